"""The user's settings of the runner: `runner.toml` beside the config file."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handoff_cli.config.file import config_path
from handoff_cli.errors import UsageProblem

_FILE = "runner.toml"
_MOST_PARALLEL = 32
_LONGEST_WARM = 24 * 60


@dataclass(frozen=True)
class Settings:
    """Choices of the user on this machine, which the service can never make."""

    allow_always: bool = False
    """May a button in the chat allow a kind of step for good?"""
    parallel: int = 4
    """How many sessions may be answered at the same time."""
    warm: float = 10
    """For how many minutes an agent's process stays open after a turn."""
    warm_sessions: int = 2
    """How many of them may be open without a turn; 0 ends each one with its turn."""
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Commands that speak ACP, by the name of the agent, in place of the table's."""
    voice: tuple[str, ...] = ()
    """A command that gets the path of a recording as its last argument, and prints what was said."""
    unattended: frozenset[str] = frozenset()
    """The agents that may work although they are not made to ask before each step."""


def settings_path(environ: Mapping[str, str]) -> Path:
    """The file with the settings; it may not exist."""
    return config_path(environ).with_name(_FILE)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """The settings; the defaults if there is no file. Raises UsageProblem."""
    path = settings_path(environ)
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
    if unknown := sorted(set(values) - {"allow_always", "parallel", "warm", "warm_sessions", "agents", "voice"}):
        raise ValueError(f"there is no setting “{unknown[0]}”")
    allow, agents = values.get("allow_always", False), values.get("agents", {})
    if not isinstance(allow, bool):
        raise ValueError("allow_always is true or false")  # noqa: TRY004 - a value of the user, not of the program
    if not isinstance(agents, dict):
        raise ValueError("agents is a table of commands")  # noqa: TRY004 - see above
    tables = {name: value if isinstance(value, dict) else {"command": value} for name, value in agents.items()}
    return Settings(
        allow_always=allow,
        parallel=_number(values, "parallel", 4, 1, _MOST_PARALLEL),
        warm=_number(values, "warm", 10, 0, _LONGEST_WARM),
        warm_sessions=_number(values, "warm_sessions", 2, 0, _MOST_PARALLEL),
        commands={
            name: _command(f"agents.{name}", table["command"]) for name, table in tables.items() if "command" in table
        },
        voice=_command("voice", values["voice"], "transcribe", "--language", "en") if "voice" in values else (),
        unattended=frozenset(name for name in tables if _is_unattended(name, tables[name])),
    )


def _number(values: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    value = values.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} is a number from {least} to {most}")
    return value


def _is_unattended(name: str, table: Mapping[str, Any]) -> bool:
    if unknown := sorted(set(table) - {"command", "unattended"}):
        raise ValueError(f"there is no setting “agents.{name}.{unknown[0]}”")
    value = table.get("unattended", False)
    if not isinstance(value, bool):
        raise ValueError(f"agents.{name}.unattended is true or false")  # noqa: TRY004 - see above
    return value


def _command(name: str, command: Any, *example: str) -> tuple[str, ...]:
    if not isinstance(command, list) or not command or not all(isinstance(word, str) and word for word in command):
        words = json.dumps(example or ("my-agent", "--acp"))
        raise ValueError(f"{name} is a list of words, such as {words}")
    return tuple(command)
