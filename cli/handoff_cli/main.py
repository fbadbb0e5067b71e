"""The way in: reads the command line, runs one command, turns every ending into an exit code."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from handoff_cli.arguments import parser
from handoff_cli.errors import CliError, Interrupted, UsageProblem

if TYPE_CHECKING:
    from argparse import Namespace
    from typing import TextIO

    from handoff_cli.ui.terminal import Terminal

_PIPE_CLOSED = 141
_DEBUG_HINT = "HANDOFF_DEBUG=1 shows where; please report it."


def entry() -> None:
    """Runs the command line of this process and exits with its code."""
    try:
        code = main(sys.argv[1:], environ=os.environ)
    except KeyboardInterrupt:
        # So early or so late that there is nothing to tell.
        code = Interrupted.exit_code
    sys.exit(code)


def main(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    directory: str | None = None,
    stdin: "TextIO | None" = None,
    stdout: "TextIO | None" = None,
    stderr: "TextIO | None" = None,
) -> int:
    """Runs one command and returns its exit code; argparse itself exits on wrong usage and on --help."""
    program = parser(environ.get("HANDOFF_PROG") or "handoff")
    args = program.parse_args(argv)
    if args.command is None:
        program.print_help(stderr or sys.stderr)
        return UsageProblem.exit_code
    from handoff_cli.ui.terminal import Terminal  # noqa: PLC0415 - `--help` needs argparse and no more

    terminal = Terminal(stdout, stderr, stdin, environ=environ, json_output=bool(getattr(args, "json", False)))
    try:
        return _run(args, terminal, environ, directory or _directory())
    except CliError as error:
        return _ended(terminal, error)
    except KeyboardInterrupt:
        return _ended(terminal, Interrupted("Stopped."))
    except BrokenPipeError:
        # The reader went away (`| head`): nobody is left to tell, and the exit must not try to flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    except Exception as error:
        # The last line of defence: a person never gets a traceback they did not ask for.
        if environ.get("HANDOFF_DEBUG"):
            raise
        what = f"{type(error).__name__}: {error}"
        return _ended(terminal, CliError(f"Something unforeseen went wrong here ({what}). {_DEBUG_HINT}"))


def _run(args: "Namespace", terminal: "Terminal", environ: Mapping[str, str], directory: str) -> int:
    from importlib import import_module  # noqa: PLC0415 - see above
    from pathlib import Path  # noqa: PLC0415 - see above

    from handoff_cli.context import Context  # noqa: PLC0415 - see above

    context = Context(args=args, terminal=terminal, environ=environ, directory=Path(directory))
    code: int = import_module(f"handoff_cli.commands.{args.run}").run(context)
    return code


def _ended(terminal: "Terminal", error: CliError) -> int:
    terminal.problem(str(error))
    terminal.result({"error": {"code": error.code, "message": str(error), **error.details}})
    return error.exit_code


def _directory() -> str:
    """Where the person is; a directory that was removed meanwhile has no name."""
    try:
        return os.getcwd()  # noqa: PTH109 - pathlib is not imported yet
    except OSError:
        return "/"
