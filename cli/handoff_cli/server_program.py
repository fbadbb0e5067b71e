"""The service's program, of which this client only knows how to start it: they share no code."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from handoff_cli.context import Context
from handoff_cli.errors import CliError, UsageProblem

SERVER = "handoff_server"
MAINTAIN, MAINTAIN_STACK, SET_UP_STACK, DEPLOY = "maintain", "maintain-stack", "set-up-stack", "deploy"
_EXTRA = "handoff-live[server]"
# The extras that each program needs; all others need that of the service. A set-up calls the platforms, too.
_EXTRAS = {MAINTAIN_STACK: "deploy", SET_UP_STACK: "deploy,server", DEPLOY: "deploy"}
# How this program was installed shows in a file that the installer leaves in its environment.
_INSTALLERS = {"uv-receipt.toml": "uv tool install", "pipx_metadata.json": "pipx install --force"}


def become(context: Context, *arguments: str) -> NoReturn:
    """Replace this process with the program. Raises CliError if it is not installed."""
    command = _command(*arguments)
    try:
        os.execve(command[0], command, _environment(context))  # noqa: S606 - no shell needed
    except OSError as error:
        raise UsageProblem(f"{command[0]} cannot be started: {error.strerror}.") from error


def ask(context: Context, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the program to its end, and return what it wrote. Raises CliError if it is not installed."""
    return subprocess.run(_command(*arguments), env=_environment(context), capture_output=True, text=True, check=False)  # noqa: S603 - see above


def ask_for_result(context: Context, *arguments: str, is_quiet: bool = False) -> tuple[int, dict[str, Any], str]:
    """Run the program at this terminal; its exit code, and the result that it passes through a pipe.

    No other process sees the pipe, so that a token may be in it. Ctrl-C goes to the program, which ends in order.
    If `is_quiet`, what the program says to people is not shown; it is the last that is returned.
    """
    command, (reading, writing) = _command(*arguments), os.pipe()
    with os.fdopen(reading) as pipe, tempfile.TemporaryFile("w+") as said:
        stream = said if is_quiet else None
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program sets a handler itself
        try:
            child = subprocess.Popen(  # noqa: S603 - see above
                [*command, f"--result-fd={writing}"],
                env=_environment(context),
                pass_fds=[writing],
                stdout=stream,
                stderr=stream,
            )
            os.close(writing)
            text, code = pipe.read(), child.wait()
        finally:
            signal.signal(signal.SIGINT, before)
        said.seek(0)
        shown = said.read().strip().removeprefix("handoff: ")
    return code, json.loads(text) if text else {}, shown


def run(context: Context, *arguments: str) -> int:
    """Run the program to its end on this terminal, and return its exit code. Raises CliError if it is not installed."""
    return subprocess.run(_command(*arguments), env=_environment(context), check=False).returncode  # noqa: S603 - see above


def options(values: Mapping[str, object], *names: str) -> list[str]:
    """Those of the parsed arguments that were given, as they are written on a command line."""
    found: list[str] = []
    for name in names:
        value, flag = values.get(name), f"--{name.replace('_', '-')}"
        if value is True:
            found.append(flag)
        elif value is not None and value is not False:
            found.append(f"{flag}={value}")
    return found


def is_installed(extras: str = "server") -> bool:
    return find_spec(SERVER) is not None and not any(name for extra in extras.split(",") for name in _missing(extra))


def remedy(environment: Path, extra: str = _EXTRA) -> str:
    """The command that installs an extra where this program is: the service's, unless another one is named."""
    found = (command for file, command in _INSTALLERS.items() if (environment / file).is_file())
    return f"{next(found, 'pip install')} '{extra}'"


def _command(*arguments: str) -> list[str]:
    if os.name != "posix":
        raise CliError("The service runs on Linux and macOS. On Windows, run it in WSL.")
    extra = _EXTRAS.get(arguments[0] if arguments else "", "server")
    if not is_installed(extra):
        what = (
            "The service is not installed, only this client."
            if extra == "server"
            else "What AWS needs is not installed."
        )
        raise CliError(f"{what} Install it: {remedy(Path(sys.prefix), f'handoff-live[{extra}]')}")
    # -P: a file in the current directory must not be imported.
    return [sys.executable, "-P", "-m", SERVER, *arguments]


def _environment(context: Context) -> dict[str, str]:
    return {**context.environ, "HANDOFF_PROG": context.prog}


def _missing(extra: str) -> Iterator[str]:
    """The packages of the extra that are not installed. A checkout, which is not installed, has all of them."""
    try:
        required = distribution("handoff-live").requires or []
    except PackageNotFoundError:
        return
    for requirement in required:
        name = re.match(r"[\w.-]+", requirement)
        if name and re.search(rf"extra == ['\"]{extra}['\"]", requirement):
            try:
                distribution(name[0])
            except PackageNotFoundError:
                yield name[0]
