"""The command line as data: every command, its arguments and the function that runs it."""

import argparse
from collections.abc import Mapping
from typing import Any

from handoff_cli import __version__
from handoff_cli.arguments import account, deployment, inside, machine, moving
from handoff_cli.arguments.account import SHELLS
from handoff_cli.arguments.moving import FORMATS
from handoff_cli.arguments.parts import DIRECTORY, FILE, PLATFORM, SESSION, add_connection

__all__ = ["DIRECTORY", "EXIT_CODES", "FILE", "FORMATS", "GROUPS", "PLATFORM", "SESSION", "SHELLS", "parser"]

EXIT_CODES = """\
exit codes:
  0 success   1 failed or refused   2 wrong usage   3 still running after the time-out
  4 service not reachable   5 the service does not accept this runner   130 interrupted"""


_DESCRIPTION = "Move a live terminal agent session into a chat thread, and bring it back."

GROUPS = {
    "start here": ("up", "setup", "chat", "send", "resume"),
    "hand over": ("status", "wait", "cancel", "send-file"),
    "look": ("sessions", "history", "export", "platforms", "homes", "doctor"),
    "people and access": ("link", "unlink", "invite", "login", "tokens", "config"),
    "run it": ("deploy", "destroy", "backup", "restore", "data"),
    "agents and shell": ("install", "uninstall", "run", "runners", "projects", "mcp", "completion"),
}
"""Every command that people type, by subject, as `--help` lists them. A new user needs the first five."""


class Program(argparse.ArgumentParser):
    """The parser of the program, with the commands in groups in its help: argparse lists them in one column."""

    commands: Mapping[str, argparse.ArgumentParser]

    def format_help(self) -> str:
        return _listing(self.prog, self.commands).format_help()


def parser(prog: str) -> Program:
    """The whole command line; `run` in the result is `module:function` in `handoff_cli.commands`."""
    top = Program(prog=prog, description=_DESCRIPTION)
    add_connection(top)
    _add_version(top)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=argparse.ArgumentParser)
    for add in (
        moving.chat,
        moving.send,
        moving.send_file,
        moving.handoffs,
        moving.sessions,
        account.service,
        machine.up,
        machine.set_up,
        account.link,
        deployment.deploy,
        machine.data,
        machine.run,
        machine.projects,
        account.tokens,
        account.config,
        inside.inside,
        account.completion,
    ):
        add(commands)
    top.commands = commands.choices
    return top


def _listing(prog: str, commands: Mapping[str, argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """A parser that only formats help: the commands as arguments, in their groups, then the options."""
    listing = argparse.ArgumentParser(
        prog=prog,
        usage="%(prog)s [options] COMMAND ...",
        description=_DESCRIPTION,
        epilog=f"{prog} COMMAND --help explains a command.\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    for title, names in GROUPS.items():
        group = listing.add_argument_group(title)
        for name in names:
            group.add_argument(name, help=(commands[name].description or "").partition("\n")[0])
    options = listing.add_argument_group("options")
    options.add_argument("-h", "--help", action="help", help="show this help message and exit")
    _add_version(options)
    add_connection(listing)
    return listing


def _add_version(container: Any) -> None:
    container.add_argument(
        "--version", action="version", version=f"handoff {__version__}", help="show the version and exit"
    )
