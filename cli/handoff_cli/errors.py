"""Every error that ends a command, with its exit code.

CliError
├── UsageProblem      2  wrong command line or unreadable file; nothing was sent
├── Ambiguous         2  a name matches several sessions
├── Refused           1  the service rejected the request and said why
├── HandoffFailed     1  the handoff failed, or the receipt does not match
├── StillRunning      3  time-out; the handoff is still running
├── Unreachable       4  no answer, or the answer is not from a Handoff service
├── NotAccepted       5  the service does not accept this runner; restarting it does not help
└── Interrupted     130  Ctrl-C
"""

from collections.abc import Mapping
from typing import Any


class CliError(Exception):
    """Ends the command. The message is one line for the user: what happened and what to do."""

    exit_code = 1
    code = "failed"

    @property
    def details(self) -> dict[str, Any]:
        """More fields for scripts, next to code and message."""
        return {}


class UsageProblem(CliError):
    """Wrong command line or unreadable file; nothing was sent."""

    exit_code = 2
    code = "usage"


class Ambiguous(CliError):
    """A name matches several sessions."""

    exit_code = 2
    code = "ambiguous"

    def __init__(self, message: str, *, candidates: list[dict[str, Any]]) -> None:
        self.candidates = candidates
        super().__init__(message)

    @property
    def details(self) -> dict[str, Any]:
        """The sessions to choose from."""
        return {"candidates": [{"id": session["id"], "title": session.get("title")} for session in self.candidates]}


class Refused(CliError):
    """The service rejected the request and said why."""

    def __init__(self, problem: Mapping[str, Any], *, status: int) -> None:
        self.problem = dict(problem)
        self.status = status
        self.code = str(problem.get("code") or "refused")
        super().__init__(str(problem.get("detail") or problem.get("title") or f"HTTP {status}"))

    @property
    def details(self) -> dict[str, Any]:
        """The other fields of the service's answer."""
        return {key: value for key, value in self.problem.items() if key not in {"type", "title", "code", "detail"}}


class HandoffFailed(CliError):
    """The handoff failed, or the receipt does not match."""


class StillRunning(CliError):
    """The wait timed out; the handoff is still running."""

    exit_code = 3
    code = "still_running"


class Unreachable(CliError):
    """No answer, or the answer is not from a Handoff service."""

    exit_code = 4
    code = "unreachable"


class NotAccepted(CliError):
    """The service does not accept this runner: its token or itself was revoked, or it is too old."""

    exit_code = 5
    code = "not_accepted"


class Interrupted(CliError):
    """The user pressed Ctrl-C."""

    exit_code = 130
    code = "interrupted"
