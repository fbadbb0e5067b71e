"""The command line as data: every command, its arguments and the function that runs it."""

import argparse

from handoff_cli import __version__
from handoff_cli.arguments import account, deployment, inside, machine, moving
from handoff_cli.arguments.account import SHELLS
from handoff_cli.arguments.moving import FORMATS
from handoff_cli.arguments.parts import DIRECTORY, FILE, PLATFORM, SESSION, connection

__all__ = ["DIRECTORY", "FILE", "FORMATS", "PLATFORM", "SESSION", "SHELLS", "parser"]

_EXIT_CODES = """\
exit codes:
  0 success   1 failed or refused   2 wrong usage   3 still running after the time-out
  4 service not reachable   5 the service does not accept this runner   130 interrupted"""


def parser(prog: str) -> argparse.ArgumentParser:
    """The whole command line; `run` in the result is `module:function` in `handoff_cli.commands`."""
    top = argparse.ArgumentParser(
        prog=prog,
        description="Move a live terminal agent session into a chat thread, and bring it back.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[connection()],
    )
    top.add_argument("--version", action="version", version=f"handoff {__version__}", help="show the version and exit")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for add in (
        moving.chat,
        moving.send,
        moving.handoffs,
        moving.sessions,
        account.service,
        machine.up,
        machine.set_up,
        account.link,
        deployment.deploy,
        machine.data,
        machine.run,
        account.tokens,
        account.config,
        inside.inside,
        account.completion,
    ):
        add(commands)
    return top
