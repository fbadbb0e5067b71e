"""Where a reader looks for sessions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from handoff_cli.directories import tool_home
from handoff_cli.errors import UsageProblem

_SHOWN = 5

Found = TypeVar("Found")


@dataclass(frozen=True)
class Source:
    """The user's directory and environment; one file or one session if they named it."""

    directory: Path
    environ: Mapping[str, str]
    path: Path | None = None
    session: str | None = None

    def home(self, variable: str, default: str) -> Path:
        """A tool's folder: the value of its variable, else its default below the home directory."""
        return Path(tool_home(self.environ, variable, default))


def only_file(source: Source, tool: str) -> Path | None:
    """The file that the user named. Raises UsageProblem if they also named a session: the file has just one."""
    if source.path and source.session:
        raise UsageProblem(f"{source.path} is one session. Use either --transcript or --from {tool}:ID.")
    return source.path


def named_session(found: Iterable[tuple[str, Found]], wanted: str, tool: str) -> Found:
    """The one session with this id, or whose id begins with it. Raises UsageProblem if there is none or several."""
    sessions = dict(found)
    ids = [wanted] if wanted in sessions else sorted(name for name in sessions if name.startswith(wanted))
    if len(ids) == 1:
        return sessions[ids[0]]
    if ids:
        raise several(ids, f"{len(ids)} sessions begin with {wanted}", tool)
    raise UsageProblem(
        f"{tool} has no session {wanted} on this machine. "
        f"Check the id, or use --from {tool} for the newest session of this directory."
    )


def several(ids: list[str], problem: str, tool: str) -> UsageProblem:
    """The error for a choice that the user has to make, with what to type."""
    shown = ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
    return UsageProblem(f"{problem}: {shown}. Choose one with --from {tool}:ID.")
