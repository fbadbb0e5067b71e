"""This client as a service of the user: installed, removed, and the messages about it."""

import sys
from collections.abc import Mapping

from handoff_cli.context import Context
from handoff_cli.errors import CliError
from handoff_cli.service_unit.launchd import Launchd
from handoff_cli.service_unit.systemd import Systemd
from handoff_cli.service_unit.unit import Installed, ServiceUnit

# A service does not get the user's shell: these say where agents and their files are. None of them is a secret.
_PLACES = ("PATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME")


def places(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that a runner needs, to find the agents that this terminal finds."""
    return {name: environ[name] for name in _PLACES if environ.get(name)}


def supervisor(environ: Mapping[str, str], platform: str = sys.platform) -> Launchd | Systemd:
    """The supervisor of the user's programs on this machine."""
    return Launchd.of(environ) if platform == "darwin" else Systemd.of(environ)


def install(context: Context, unit: ServiceUnit) -> Installed:
    """Write the unit. Raises CliError."""
    try:
        return supervisor(context.environ).install(unit)
    except (OSError, ValueError) as error:
        raise CliError(f"The unit cannot be written: {error}.") from error


def tell_commands(context: Context, installed: Installed, *, remove_with: str) -> None:
    """The steps that are left, and the commands for later."""
    say = context.terminal.say
    if installed.to_do:
        say("\nIt could not be enabled from here (no systemd for this user is running). In a session of yours, run:\n")
        say(f"  {' && '.join(installed.to_do)}")
    say()
    for name, command in {**installed.commands, "remove": remove_with}.items():
        say(f"  {name:<7} {command}")
    if installed.note:
        say(f"\n{installed.note}")


def remove(context: Context, name: str) -> int:
    """Stop the service and delete its unit. Raises CliError."""
    try:
        removed = supervisor(context.environ).remove(name)
    except OSError as error:
        raise CliError(f"The unit cannot be removed: {error}.") from error
    if removed.path:
        context.terminal.say(f"Removed {removed.path}. The data is kept.")
    elif removed.to_do:
        raise CliError(f"It could not be stopped, so nothing was removed. Run: {' && '.join(removed.to_do)}")
    else:
        context.terminal.say("It is not installed as a service. Nothing was changed.")
    return 0
