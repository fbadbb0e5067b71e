"""Parse the command line, run one command and turn every outcome into an exit code."""

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
_DEBUG_HINT = "Set HANDOFF_DEBUG=1 for the traceback, and please report it."


def entry() -> None:
    """Run the command line of this process and exit with its code."""
    try:
        code = main(sys.argv[1:], environ=os.environ)
    except KeyboardInterrupt:
        # Before or after the command itself: there is no state to report.
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
    """Run one command and return its exit code. argparse itself exits on wrong usage and on --help."""
    program = parser(environ.get("HANDOFF_PROG") or "handoff")
    args = program.parse_args(argv)
    if args.command is None:
        program.print_help(stderr or sys.stderr)
        return UsageProblem.exit_code
    from handoff_cli.ui.terminal import Terminal  # noqa: PLC0415 - `--help` needs only argparse

    terminal = Terminal(stdout, stderr, stdin, environ=environ, json_output=bool(getattr(args, "json", False)))
    if terminal.interactive:
        _restore_ctrl_c()
    try:
        return _run(args, terminal, environ, directory or _directory())
    except CliError as error:
        return _report(terminal, error)
    except KeyboardInterrupt:
        return _report(terminal, Interrupted("Stopped."))
    except BrokenPipeError:
        # The reader of the pipe is gone (`| head`); the flush at exit must not raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    except Exception as error:
        # Users get a traceback only if they ask for one.
        if environ.get("HANDOFF_DEBUG"):
            raise
        return _report(terminal, CliError(f"Internal error ({type(error).__name__}: {error}). {_DEBUG_HINT}"))


def _run(args: "Namespace", terminal: "Terminal", environ: Mapping[str, str], directory: str) -> int:
    from importlib import import_module  # noqa: PLC0415 - see above
    from pathlib import Path  # noqa: PLC0415 - see above

    from handoff_cli.context import Context  # noqa: PLC0415 - see above

    context = Context(args=args, terminal=terminal, environ=environ, directory=Path(directory))
    module, _, function = args.run.partition(":")
    code: int = getattr(import_module(f"handoff_cli.commands.{module}"), function)(context)
    return code


def _report(terminal: "Terminal", error: CliError) -> int:
    terminal.problem(str(error))
    terminal.result({"error": {"code": error.code, "message": str(error), **error.details}})
    return error.exit_code


def _restore_ctrl_c() -> None:
    """Undo an inherited `ignore` (as under nohup): at a terminal, Ctrl-C must work. Background jobs keep it."""
    import signal  # noqa: PLC0415 - see above

    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _directory() -> str:
    """The working directory; `/` if it has been removed."""
    try:
        return os.getcwd()  # noqa: PTH109 - pathlib is not imported yet
    except OSError:
        return "/"
