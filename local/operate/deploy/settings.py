"""Settings of a deploy: a small TOML file, and flags that win over it."""

import argparse
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.operate.deploy.problems import WrongUsage

STACK = "handoff"
_KEYS = {"stack": str, "region": str, "profile": str, "user": str, "snap_start": bool, "parameters": dict}


@dataclass(frozen=True)
class Settings:
    """One deployment. `parameters` are those that were given; the others keep their values."""

    stack: str = STACK
    region: str | None = None
    profile: str | None = None
    user: str | None = None
    snap_start: bool | None = None
    parameters: Mapping[str, str] | None = None

    @property
    def given(self) -> Mapping[str, str]:
        return self.parameters or {}

    @property
    def prefix(self) -> str:
        """Where a new stack has its secrets: stacks side by side have their own."""
        return self.given.get("SecretsPrefix", f"/{self.stack}")

    @property
    def options(self) -> str:
        """The options that name this deployment in a command that the operator is told to run."""
        given = {"stack": self.stack, "region": self.region, "profile": self.profile}
        return " ".join(f"--{name} {shlex.quote(value)}" for name, value in given.items() if value)


def settings_from(asked: argparse.Namespace) -> Settings:
    """Raises WrongUsage for a file or a flag that cannot be used."""
    file = _read(asked.settings) if asked.settings else {}
    parameters = {name: _text(value) for name, value in file.get("parameters", {}).items()}
    parameters |= _pairs(getattr(asked, "set", None) or ())
    stack = asked.stack or file.get("stack") or STACK
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,40}", stack):
        raise WrongUsage(f"{stack!r} is no name for a stack: a letter, then letters, digits and -, at most 41.")
    snap_start = getattr(asked, "snap_start", None)
    return Settings(
        stack,
        asked.region or file.get("region"),
        asked.profile or file.get("profile"),
        getattr(asked, "user", None) or file.get("user"),
        file.get("snap_start") if snap_start is None else snap_start,
        parameters,
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.expanduser().read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise WrongUsage(f"The settings in {path} cannot be read: {error}. Nothing was done.") from error
    for key, value in values.items():
        if key not in _KEYS:
            raise WrongUsage(f"{path} has an unknown key {key!r}. Known are: {', '.join(_KEYS)}.")
        if not isinstance(value, _KEYS[key]):
            raise WrongUsage(f"{key} in {path} must be of the type {_KEYS[key].__name__}.")
    return values


def _pairs(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in given:
        name, mark, value = one.partition("=")
        if not mark:
            raise WrongUsage(f"Write --set {one} as --set NAME=VALUE.")
        found[name.strip()] = value
    return found


def _text(value: Any) -> str:
    """As CloudFormation takes it: everything is text there."""
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
