"""The user's settings of the runner: `runner.toml` beside the config file."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from handoff_cli.config.file import config_path
from handoff_cli.errors import UsageProblem

_FILE = "runner.toml"
_MOST_PARALLEL = 32


@dataclass(frozen=True)
class Settings:
    """Choices of the user on this machine, which the service can never make."""

    allow_always: bool = False
    """May a button in the chat allow a kind of step for good?"""
    parallel: int = 4
    """How many sessions may be answered at the same time."""
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Commands that speak ACP, by the name of the agent, in place of the table's."""


def read_settings(environ: Mapping[str, str]) -> Settings:
    """The settings; the defaults if there is no file. Raises UsageProblem."""
    path = config_path(environ).with_name(_FILE)
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError) as error:
        raise UsageProblem(f"{path} cannot be read: {error}. Fix or remove it.") from error
    try:
        return _checked(values)
    except ValueError as error:
        raise UsageProblem(f"{path}: {error}. Fix or remove it.") from error


def _checked(values: Mapping[str, Any]) -> Settings:
    unknown = sorted(set(values) - {"allow_always", "parallel", "agents"})
    allow, parallel, agents = values.get("allow_always", False), values.get("parallel", 4), values.get("agents", {})
    if unknown:
        raise ValueError(f"there is no setting “{unknown[0]}”")
    if not isinstance(allow, bool):
        raise ValueError("allow_always is true or false")  # noqa: TRY004 - a value of the user, not of the program
    if isinstance(parallel, bool) or not isinstance(parallel, int) or not 1 <= parallel <= _MOST_PARALLEL:
        raise ValueError(f"parallel is a number from 1 to {_MOST_PARALLEL}")
    if not isinstance(agents, dict):
        raise ValueError("agents is a table of commands")  # noqa: TRY004 - see above
    return Settings(allow, parallel, {name: _command(name, command) for name, command in agents.items()})


def _command(name: str, command: Any) -> tuple[str, ...]:
    if not isinstance(command, list) or not command or not all(isinstance(word, str) and word for word in command):
        raise ValueError(f'agents.{name} is a list of words, such as ["my-agent", "--acp"]')
    return tuple(command)
