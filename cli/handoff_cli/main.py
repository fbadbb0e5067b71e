"""The way in: reads the command line, runs one command, turns every ending into an exit code."""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from handoff_cli.arguments import parser
from handoff_cli.context import Context
from handoff_cli.errors import CliError, Interrupted
from handoff_cli.terminal import Terminal

_PIPE_CLOSED = 141


def entry() -> None:
    """What the installed program calls."""
    sys.exit(main(sys.argv[1:], environ=os.environ))


def main(argv: Sequence[str], *, environ: Mapping[str, str], terminal: Terminal | None = None) -> int:
    """Runs one command and returns its exit code; argparse itself exits on wrong usage."""
    args = parser(environ.get("HANDOFF_PROG") or "handoff").parse_args(argv)
    terminal = terminal or Terminal(environ=environ, json_output=getattr(args, "json", False))
    context = Context(args=args, terminal=terminal, environ=environ, directory=_directory())
    try:
        code: int = import_module(f"handoff_cli.commands.{args.run}").run(context)
    except CliError as error:
        return _ended(terminal, error)
    except KeyboardInterrupt:
        return _ended(terminal, Interrupted("Stopped. Nothing was left half done."))
    except BrokenPipeError:
        # The reader went away (`| head`): nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    return code


def _ended(terminal: Terminal, error: CliError) -> int:
    terminal.problem(str(error))
    terminal.result({"error": {"code": error.code, "message": str(error)}})
    return error.exit_code


def _directory() -> Path:
    try:
        return Path.cwd()
    except OSError:
        return Path("/")
