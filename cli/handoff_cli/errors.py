"""Everything that can end a command, each with its exit code.

CliError
├── UsageProblem      2  the command or a file it names is not right; nothing was sent
├── Unreachable       4  no answer, or an answer that is not the service's
├── Ambiguous         2  a name fits several sessions
├── Refused           1  the service said no, and why
├── HandoffFailed     1  the handoff ended without moving the session, or the receipt differs
├── StillRunning      3  the waiting ended before the handoff did
└── Interrupted     130  Ctrl-C
"""

from collections.abc import Mapping
from typing import Any


class CliError(Exception):
    """Ends the command. The message is one line for a person: what happened, and what to do."""

    exit_code = 1
    code = "failed"

    @property
    def details(self) -> dict[str, Any]:
        """What a script may want to know beyond the code and the message."""
        return {}


class UsageProblem(CliError):
    """The command or a file it names is not right; nothing was sent."""

    exit_code = 2
    code = "usage"


class Unreachable(CliError):
    """The service gave no answer, or something else answered in its place."""

    exit_code = 4
    code = "unreachable"


class Refused(CliError):
    """The service understood and said no."""

    def __init__(self, problem: Mapping[str, Any], *, status: int) -> None:
        self.problem = dict(problem)
        self.status = status
        self.code = str(problem.get("code") or "refused")
        super().__init__(str(problem.get("detail") or problem.get("title") or f"HTTP {status}"))

    @property
    def details(self) -> dict[str, Any]:
        """What the service added to its reason."""
        return {key: value for key, value in self.problem.items() if key not in {"type", "title", "code", "detail"}}


class HandoffFailed(CliError):
    """The handoff ended without moving the session, or not all of it arrived."""

    def __init__(self, message: str, *, code: str = "failed") -> None:
        self.code = code
        super().__init__(message)


class Ambiguous(CliError):
    """A name fits several sessions."""

    exit_code = 2
    code = "ambiguous"

    def __init__(self, message: str, *, candidates: list[dict[str, Any]]) -> None:
        self.candidates = candidates
        super().__init__(message)

    @property
    def details(self) -> dict[str, Any]:
        """The sessions to choose from."""
        return {"candidates": [{"id": session["id"], "title": session.get("title")} for session in self.candidates]}


class StillRunning(CliError):
    """The waiting ended before the handoff did; it goes on by itself."""

    exit_code = 3
    code = "still_running"


class Interrupted(CliError):
    """The person pressed Ctrl-C."""

    exit_code = 130
    code = "interrupted"
