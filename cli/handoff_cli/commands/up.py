"""`handoff up`: become the service on this machine, a program that shares nothing with this one, or let it start by itself."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from handoff_cli.commands.user_service import install, places, remove, tell_commands
from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem
from handoff_cli.own_program import own_program
from handoff_cli.server_program import MAINTAIN, ask, become, options
from handoff_cli.service_unit.unit import Installed, ServiceUnit

NAME = "handoff"
OPTIONS = ("data", "listen", "public_url", "no_runner")
WRONG_USAGE, REFUSED = 2, 3


def up(context: Context) -> int:
    """Replace this process with the service, or install or remove it as a user service. Raises CliError."""
    if context.args.uninstall:
        return remove(context, NAME)
    if context.args.install:
        return _install(context)
    return become(context, *options(vars(context.args), *OPTIONS))


def _install(context: Context) -> int:
    prepared = _prepare(context)
    given = {**vars(context.args), "data": prepared["data"]}  # absolute: a service has another environment
    command, needed = own_program("up", *options(given, *OPTIONS))
    environment = {**({} if context.args.no_runner else places(context.environ)), **needed}
    unit = ServiceUnit(NAME, "Handoff", command, Path(prepared["data"]), environment, final=(WRONG_USAGE, REFUSED))
    _tell(context, install(context, unit), prepared)
    return 0


def _prepare(context: Context) -> dict[str, Any]:
    """Let the service check the options, and make its directory with a file for settings."""
    done = ask(context, MAINTAIN, "prepare", "--json", *options(vars(context.args), *OPTIONS))
    if done.returncode != 0:
        raise UsageProblem(f"{done.stderr.strip().removeprefix('handoff: ')} Nothing was installed.")
    prepared: dict[str, Any] = json.loads(done.stdout)
    return prepared


def _tell(context: Context, installed: Installed, prepared: Mapping[str, Any]) -> None:
    say = context.terminal.say
    say(f"{'Wrote' if installed.is_changed else 'Unchanged:'} {installed.path}")
    say(f"{'Wrote' if prepared['created'] else 'Unchanged:'} {prepared['settings']}")
    say("The service reads tokens of bots and the key of the agent from there: fill it in before you start it.")
    if prepared["unseen"]:
        say(f"Set in this terminal, but not there, so the service will not see: {', '.join(prepared['unseen'])}")
    for problem in prepared["problems"]:
        say(f"With these settings it will not start: {problem}")
    tell_commands(context, installed, remove_with=f"{context.prog} up --uninstall")
