"""The checks of a service on this machine, which also work when it does not run."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shlex import quote

from handoff_cli.api.transport import Json
from handoff_cli.config.local_env import data_directory, distrust, read_env
from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem
from handoff_cli.server_program import MAINTAIN, ask, is_installed, remedy

_VARIABLES = ("HANDOFF_URL", "HANDOFF_TOKEN")


def of_its_own_service(context: Context) -> Context | None:
    """With `--data`, the context of the service there, unless another one was named as well; None if it names no URL."""
    if getattr(context.args, "data", None) is None or getattr(context.args, "url", None):
        return context
    return of_this_machine(context)


def of_this_machine(context: Context) -> Context | None:
    """The context of the service in `--data` or in the usual directory, whatever is configured; None if it names no URL."""
    given = getattr(context.args, "data", None)
    env = (Path(given).expanduser().absolute() if given else data_directory(context.environ)) / "env"
    known = read_env(env) if env.is_file() and not distrust(env) else {}
    if not known.get("HANDOFF_URL"):
        return None
    return replace(context, environ={**context.environ, **{name: known.get(name, "") for name in _VARIABLES}})


def machine_checks(context: Context) -> Iterator[Json]:
    """Checks of the service's data directory; nothing if another service is in use."""
    directory = _directory(context)
    if directory is None:
        return
    if not is_installed():
        detail = f"The service is not installed here, so {directory} was not checked."
        yield {"name": "data", "ok": None, "detail": detail, "fix": remedy(Path(sys.prefix))}
        return
    done = ask(context, MAINTAIN, "check", "--json", f"--data={directory}")
    try:
        yield from json.loads(done.stdout)["checks"]
    except (ValueError, KeyError, TypeError):
        detail = f"The check failed: {done.stderr.strip()[-200:] or f'exit code {done.returncode}'}"
        yield {"name": "data", "ok": False, "detail": detail, "fix": f"ls -la {quote(str(directory))}"}


def _directory(context: Context) -> Path | None:
    """The one that was named; else the usual one, if its service is the one that commands talk to, or there is no other."""
    if given := getattr(context.args, "data", None):
        return Path(given).expanduser().absolute()
    usual = data_directory(context.environ)
    if not usual.is_dir():
        return None
    try:
        return usual if context.configuration().url_from == str(usual / "env") else None
    except UsageProblem:
        return usual
