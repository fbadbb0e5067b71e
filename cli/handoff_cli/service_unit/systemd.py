"""Units of the user's systemd."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from handoff_cli.directories import config_home
from handoff_cli.service_unit.unit import Installed, Removed, Run, ServiceUnit, run_quietly, write_unit

_UNIT = """\
# Written by `handoff`, which replaces it when it is called again. Secrets do not belong here.
[Unit]
Description={description}
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=exec
ExecStart={command}
{environment}Restart=on-failure
RestartSec=5
RestartPreventExitStatus={final}
# The program ends its own children, in order; what is left after that is killed.
KillMode=mixed
TimeoutStopSec=20
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


@dataclass(frozen=True)
class Systemd:
    """`directory` is where the user's units are."""

    directory: Path
    run: Run = run_quietly

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Systemd":
        return cls(Path(config_home(environ)) / "systemd" / "user")

    def path(self, name: str) -> Path:
        return self.directory / f"{name}.service"

    def install(self, unit: ServiceUnit) -> Installed:
        """Write the unit, and let it start with its user's session, but not now. Idempotent. Raises OSError."""
        path = self.path(unit.name)
        is_changed = write_unit(path, text_of(unit))
        steps = [("daemon-reload",), ("enable", path.name)]
        commands = {
            "start": f"systemctl --user {'restart' if is_changed else 'start'} {unit.name}",
            "state": f"systemctl --user status {unit.name}",
            "log": f"journalctl --user -u {unit.name} -f",
            "stop": f"systemctl --user stop {unit.name}",
        }
        note = "It ends when you log out. To keep it running: loginctl enable-linger"
        return Installed(path, is_changed, self._steps(steps), commands, note)

    def remove(self, name: str) -> Removed:
        """Stop it and delete the unit; the program's data stays. Idempotent. Raises OSError."""
        path = self.path(name)
        if not path.exists():
            return Removed(None)
        left = self._steps([("disable", "--now", path.name)])  # needs the file
        if left and self.run(["systemctl", "--user", "is-active", "--quiet", path.name]) == 0:
            return Removed(None, left)
        for link in [*self.directory.glob(f"*.wants/{path.name}"), path]:
            link.unlink()
        return Removed(path, self._steps([("daemon-reload",)]))

    def _steps(self, steps: list[tuple[str, ...]]) -> list[str]:
        """Run the steps in order; returns the first that fails and those behind it."""
        commands = [["systemctl", "--user", *step] for step in steps]
        for number, command in enumerate(commands):
            if self.run(command) != 0:
                return [shlex.join(each) for each in commands[number:]]
        return []


def text_of(unit: ServiceUnit) -> str:
    """The unit as the content of its file."""
    environment = "".join(
        f"Environment={_quoted(f'{name}={value}', '%')}\n" for name, value in sorted(unit.environment.items())
    )
    return _UNIT.format(
        description=unit.description.replace("%", "%%"),
        command=" ".join(_quoted(word, "%$") for word in unit.command),
        environment=environment,
        final=" ".join(map(str, unit.final)),
    )


def _quoted(word: str, doubled: str) -> str:
    """One word. Letters with a meaning to systemd are doubled; the rest is as in C. Raises ValueError for line breaks."""
    if not word.isprintable():
        raise ValueError(f"{word!r} cannot stand in a unit")
    for letter in doubled:
        word = word.replace(letter, letter * 2)
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
