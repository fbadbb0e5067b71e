"""Arguments of several commands: the connection, platforms, sessions, numbers; and how the shell completes them."""

import argparse
from typing import Any

# How the shell completes an argument; `completion` turns these into what shtab understands.
FILE, DIRECTORY, PLATFORM, SESSION = "file", "directory", "platforms", "sessions"


def add_connection(parser: argparse.ArgumentParser) -> None:
    """Options accepted before and after the command; SUPPRESS keeps the later one from erasing the earlier."""
    group = parser.add_argument_group("connection")
    group.add_argument(
        "--url",
        default=argparse.SUPPRESS,
        help="URL of the service (default: HANDOFF_URL, config file, .local/env, the service of `handoff up`)",
    )
    group.add_argument(
        "--token", default=argparse.SUPPRESS, help="your token (better: HANDOFF_TOKEN or the config file)"
    )
    group.add_argument(
        "--insecure",
        action="store_true",
        default=argparse.SUPPRESS,
        help="allow an http:// URL beyond this machine (or set HANDOFF_INSECURE=1)",
    )


def add_command(
    commands: Any, name: str, text: str, run: str, *, json_output: bool = True, connects: bool = True
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    if connects:
        add_connection(command)
    command.set_defaults(run=run)
    if json_output:
        command.add_argument("--json", action="store_true", help="print one JSON value, for scripts")
    return command


def explain(command: argparse.ArgumentParser, explained: str, more: str, *, wraps: bool = True) -> None:
    """Let the help teach: `explained` holds the command's text, `more` ends it. With `wraps` only these two keep their lines."""
    command.description = explained.format(command.description)
    command.epilog = more
    command.formatter_class = argparse.RawDescriptionHelpFormatter if wraps else argparse.RawTextHelpFormatter


def add_argument(container: Any, *names: str, completes: str = "", **options: Any) -> None:
    """An argument, and how the shell completes it."""
    container.add_argument(*names, **options).completes = completes


def add_platform(command: argparse.ArgumentParser) -> None:
    help_text = "for example telegram; `handoff platforms` lists them"
    add_argument(command, "platform", metavar="PLATFORM", completes=PLATFORM, help=help_text)


def add_session(command: argparse.ArgumentParser) -> None:
    help_text = "title or id, or the beginning of one"
    add_argument(command, "session", metavar="TITLE|ID", completes=SESSION, help=help_text)


def add_timeout(command: Any) -> None:
    command.add_argument(
        "--timeout",
        metavar="S",
        type=seconds,
        help="stop waiting after S seconds (default: 60 until it is picked up, then 15 minutes)",
    )


def add_stack(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("--stack", metavar="NAME", help=text)
    command.add_argument(
        "--region", metavar="REGION", help="default: AWS_REGION, AWS_DEFAULT_REGION, that of the profile"
    )
    command.add_argument("--profile", metavar="PROFILE", help="of the AWS CLI (default: as it finds it)")


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"not a number of seconds: {text!r}")
    return value


def count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 10**9:
        raise argparse.ArgumentTypeError(f"not a number from 1: {text!r}")
    return int(text)
