"""Agents of launchd, on macOS. Written after its documentation; the file is checked here, the start is not."""

import os
import plistlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from handoff_cli.directories import user_home
from handoff_cli.service_unit.unit import Installed, Removed, Run, ServiceUnit, run_quietly, write_unit

SUPERVISOR = {"HANDOFF_SUPERVISOR": "launchd"}
"""Tells the program to end with 0 where a new start would not help: launchd does not tell exit codes apart."""


@dataclass(frozen=True)
class Launchd:
    """`directory` is where the user's agents are."""

    directory: Path
    run: Run = run_quietly

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Launchd":
        return cls(Path(user_home(environ)) / "Library" / "LaunchAgents")

    def path(self, name: str) -> Path:
        return self.directory / f"{_label(name)}.plist"

    def install(self, unit: ServiceUnit) -> Installed:
        """Write the unit, and let it start with its user's session, but not now. Idempotent. Raises OSError."""
        path, service = self.path(unit.name), f"{_domain()}/{_label(unit.name)}"
        is_changed = write_unit(path, text_of(unit))
        is_loaded = self.run(["launchctl", "print", service]) == 0
        start = f"launchctl bootstrap {_domain()} '{path}'"
        reload = f"launchctl bootout {service}; {start}"
        commands = {
            "start": reload if is_loaded and is_changed else start,
            "state": f"launchctl print {service}",
            "log": f"tail -f '{unit.directory / 'log'}' '{error_log(unit)}'",
            "stop": f"launchctl bootout {service}",
        }
        return Installed(path, is_changed, [], commands, "From the next login on it starts by itself.")

    def remove(self, name: str) -> Removed:
        """Stop it and delete the unit; the program's data stays. Idempotent. Raises OSError."""
        path, service = self.path(name), f"{_domain()}/{_label(name)}"
        if not path.exists():
            return Removed(None)
        is_loaded = self.run(["launchctl", "print", service]) == 0
        if is_loaded and self.run(["launchctl", "bootout", service]) != 0:
            return Removed(None, [f"launchctl bootout {service}"])
        path.unlink()
        return Removed(path)


def error_log(unit: ServiceUnit) -> Path:
    """Where launchd writes why the program did not start."""
    return unit.directory / f"{unit.name}.launchd.log"


def text_of(unit: ServiceUnit) -> str:
    """The agent as the content of its file."""
    return plistlib.dumps(
        {
            "Label": _label(unit.name),
            "ProgramArguments": list(unit.command),
            "EnvironmentVariables": {**unit.environment, **SUPERVISOR},
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": 10,
            "ExitTimeOut": 20,
            "StandardOutPath": "/dev/null",
            "StandardErrorPath": str(error_log(unit)),
        }
    ).decode()


def _label(name: str) -> str:
    return f"live.{name}"


def _domain() -> str:
    return f"gui/{os.getuid()}"
