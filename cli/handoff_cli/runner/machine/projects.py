"""What the user has opened for sessions from a chat: directories with labels, and whether sessions there are brought."""

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from handoff_cli.config.file import config_path
from handoff_cli.errors import UsageProblem

LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
RESERVED = frozenset({"model", "here"})
"""Words that mean something else after `/new`."""
_FILE = "projects.toml"


@dataclass(frozen=True)
class Projects:
    """The choices of the user on this machine; the service can never make them."""

    directories: Mapping[str, Path] = field(default_factory=dict)
    bring: bool = False
    """May sessions of these directories be listed and brought? That uploads their titles."""

    def label_of(self, directory: str) -> str | None:
        """The project in which a directory lies: the innermost one. Links are followed."""
        found = Path(directory).resolve()
        holding = [(len(path.parts), label) for label, path in self._resolved() if found.is_relative_to(path)]
        return max(holding)[1] if holding else None

    def _resolved(self) -> list[tuple[str, Path]]:
        return [(label, path.resolve()) for label, path in self.directories.items()]


def projects_path(environ: Mapping[str, str]) -> Path:
    """The file with the projects; it may not exist."""
    return config_path(environ).with_name(_FILE)


def read_projects(environ: Mapping[str, str]) -> Projects:
    """The user's projects; none if there is no file. Raises UsageProblem."""
    path = projects_path(environ)
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return Projects()
    except (OSError, ValueError) as error:
        raise UsageProblem(f"{path} cannot be read: {error}. Fix or remove it.") from error
    named, bring = values.get("projects", {}), values.get("bring", False)
    good = isinstance(named, dict) and isinstance(bring, bool)
    if not good or not all(_is_project(label, where) for label, where in named.items()):
        raise UsageProblem(f"{path}: `bring` is true or false, and each project a label and an absolute path.")
    return Projects({label: Path(where) for label, where in named.items()}, bring)


def write_projects(environ: Mapping[str, str], projects: Projects) -> None:
    """Replace the file; only the user can read it. Raises UsageProblem."""
    path = projects_path(environ)
    # A JSON string without control characters is a TOML basic string; labels need no quotes, but a dot would be a table.
    lines = [f"bring = {'true' if projects.bring else 'false'}", "", "[projects]"]
    lines += [
        f"{json.dumps(label)} = {json.dumps(str(where), ensure_ascii=False)}"
        for label, where in projects.directories.items()
    ]
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp creates the file with mode 0600, and the rename keeps the mode.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("\n".join([*lines, ""]))
        Path(name).replace(path)
    except (OSError, ValueError) as error:
        raise UsageProblem(f"{path} cannot be written: {error}.") from error


def label_for(directory: Path) -> str:
    """The name of a directory as a label; empty if nothing of it is left."""
    label = re.sub(r"[^A-Za-z0-9._-]+", "-", directory.name).strip("-._")[:40]
    return label if LABEL.fullmatch(label) else ""


def _is_project(label: str, where: object) -> bool:
    return bool(LABEL.fullmatch(label)) and isinstance(where, str) and Path(where).is_absolute()
