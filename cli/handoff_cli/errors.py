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

    code = "failed"
    exit_code = 1

    def __init_subclass__(cls, *, code: str = "", exit_code: int = 0) -> None:
        cls.code, cls.exit_code = code or cls.code, exit_code or cls.exit_code

    @property
    def details(self) -> dict[str, Any]:
        """More fields for scripts, next to code and message."""
        return {}


class UsageProblem(CliError, code="usage", exit_code=2):
    """Wrong command line or unreadable file; nothing was sent."""


class Ambiguous(CliError, code="ambiguous", exit_code=2):
    """A name matches several sessions."""

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


class StillRunning(CliError, code="still_running", exit_code=3):
    """The wait timed out; the handoff is still running."""


class Unreachable(CliError, code="unreachable", exit_code=4):
    """No answer, or the answer is not from a Handoff service."""


class NotAccepted(CliError, code="not_accepted", exit_code=5):
    """The service does not accept this runner: its token or itself was revoked, or it is too old."""


class Interrupted(CliError, code="interrupted", exit_code=130):
    """The user pressed Ctrl-C."""
