"""The command line as data: every command, its arguments and the module that runs it."""

import argparse
from typing import Any

_EXIT_CODES = """\
exit codes:
  0 it worked   1 it failed or was refused   2 usage   3 still running after the time-out
  4 the service cannot be reached   130 interrupted"""


def parser(prog: str) -> argparse.ArgumentParser:
    """The whole command line; `run` in the result names the module of the command."""
    top = argparse.ArgumentParser(
        prog=prog,
        description="Move a live terminal agent session into a chat thread, and bring it back.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[_connection()],
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _send(commands)
    _status(commands)
    _config(commands)
    return top


def _connection() -> argparse.ArgumentParser:
    """Accepted before and after the command; SUPPRESS keeps the later one from erasing the earlier."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--url", default=argparse.SUPPRESS, help="the service (default: HANDOFF_URL, config file, .local/env)"
    )
    shared.add_argument(
        "--token", default=argparse.SUPPRESS, help="its token (better: HANDOFF_TOKEN or the config file)"
    )
    return shared


def _command(commands: Any, name: str, text: str, *, json_output: bool = True) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, parents=[_connection()])
    command.set_defaults(run=name.replace("-", "_"))
    if json_output:
        command.add_argument("--json", action="store_true", help="print one JSON value, for scripts")
    return command


def _send(commands: Any) -> None:
    send = _command(commands, "send", "Hand a session over to a chat.")
    send.add_argument("platform", metavar="PLATFORM", help="telegram, slack or discord")
    send.add_argument("--transcript", metavar="FILE", required=True, help="JSON or JSONL messages; - is stdin")
    send.add_argument("--title", metavar="T", help="what to call the session")
    _timeout(send)


def _status(commands: Any) -> None:
    status = _command(commands, "status", "Show how a handoff stands.")
    status.add_argument("id", metavar="ID", help="the handoff's id")


def _config(commands: Any) -> None:
    config = _command(commands, "config", "Show or change the configuration.", json_output=False)
    actions = config.add_subparsers(dest="action", metavar="ACTION", required=True)
    home = _command(actions, "home", "Set the chat where handoffs to a platform arrive.")
    home.add_argument("platform", metavar="PLATFORM")
    home.add_argument("chat", metavar="CHAT", help="the chat's id on that platform")
    home.set_defaults(run="config")


def _timeout(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--timeout",
        metavar="S",
        type=_seconds,
        help="stop waiting after S seconds (default: 60 to be picked up, then 15 minutes)",
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"not a number of seconds: {text!r}")
    return value
