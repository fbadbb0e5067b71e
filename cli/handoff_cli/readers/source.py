"""Where a reader looks for sessions."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """The user's directory and environment, or one file if they named it."""

    directory: Path
    environ: Mapping[str, str]
    path: Path | None = None

    def home(self, variable: str, default: str) -> Path:
        """A tool's folder: the value of its variable, else its default below the home directory."""
        if named := self.environ.get(variable):
            return Path(named).expanduser()
        return Path(self.environ.get("HOME") or Path.home()) / default
