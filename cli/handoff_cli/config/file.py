"""The config file: readable by its owner only, never half written."""

import json
import os
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

from handoff_cli.directories import config_home
from handoff_cli.errors import UsageProblem

KEYS = ("url", "token")


def config_path(environ: Mapping[str, str]) -> Path:
    """Path of the config file, whether or not it exists."""
    return Path(config_home(environ)) / "handoff" / "config.toml"


def read_config(path: Path) -> dict[str, str]:
    """The values in the config file; empty if there is no file. Raises UsageProblem."""
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageProblem(f"The config file {path} cannot be read: {error}. Fix or remove it.") from error
    return {key: value for key, value in values.items() if key in KEYS and isinstance(value, str)}


def write_values(path: Path, changed: Mapping[str, str | None]) -> None:
    """Set values, or remove (None) them, in one step, so that a token is never beside the URL of another service.

    Raises UsageProblem if the file cannot be written.
    """
    values: dict[str, str | None] = {**read_config(path), **changed}
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp creates the file with mode 0600, and the rename keeps the mode.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            # A JSON string without control characters is a TOML basic string.
            kept = {name: value for name, value in values.items() if value is not None}
            file.writelines(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in kept.items())
        Path(name).replace(path)
    except OSError as error:
        raise UsageProblem(f"{path} cannot be written: {error.strerror}.") from error
