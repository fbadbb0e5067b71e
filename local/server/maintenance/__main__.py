"""`python -m handoff_server maintain COMMAND`: started by the client, which knows these commands under its own name."""

import argparse
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from local.console import Console
from local.interruptible import interruptible
from local.server.directory import Unusable, default_directory
from shared.errors import DataFileError

Command = Callable[[argparse.Namespace, Console], int]
COMMANDS = {
    "backup": "backup:back_up_to",
    "restore": "backup:restore_from",
    "prepare": "prepare:prepare",
    "check": "check:check",
    "setup": "set_up:set_up_here",
    "export": "data:export_data",
    "import": "data:import_data",
}
"""Imported when they are asked for: a backup needs no SDK of a platform."""


def main() -> int:
    """Exit codes: 0 done, 1 failed or refused, 2 wrong usage, 130 interrupted."""
    os.umask(0o077)
    asked = _parser().parse_args()
    console = Console(is_json=asked.json)
    module, _, name = COMMANDS[asked.command].partition(":")
    command: Command = getattr(import_module(f"local.server.maintenance.{module}"), name)
    try:
        return command(asked, console)
    except (Unusable, DataFileError) as problem:
        return console.refuse(str(problem))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="handoff")
    commands = parser.add_subparsers(dest="command", required=True)
    everywhere = argparse.ArgumentParser(add_help=False)
    everywhere.add_argument("--data", type=Path, default=default_directory(os.environ))
    everywhere.add_argument("--json", action="store_true")
    copy = commands.add_parser("backup", parents=[everywhere])
    copy.add_argument("file", type=Path)
    copy.add_argument("--force", action="store_true")
    back = commands.add_parser("restore", parents=[everywhere])
    back.add_argument("file", type=Path)
    commands.add_parser("check", parents=[everywhere])
    bot = commands.add_parser("setup", parents=[everywhere])
    bot.add_argument("platform")
    bot.add_argument("--public-url")
    bot.add_argument("--replace", action="store_true")
    export = commands.add_parser("export", parents=[everywhere])
    export.add_argument("file", type=Path)
    export.add_argument("--force", action="store_true")
    imported = commands.add_parser("import", parents=[everywhere])
    imported.add_argument("file", type=Path)
    imported.add_argument("--yes", action="store_true")
    options = commands.add_parser("prepare", parents=[everywhere])
    options.add_argument("--listen")
    options.add_argument("--public-url")
    return parser


if __name__ == "__main__":
    sys.exit(interruptible(main, "Stopped. What was not complete is not there."))
