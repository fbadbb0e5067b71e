"""Reactions of the runner to answers of the service: one table for all calls."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any


class Verdict(Enum):
    """The meaning of an answer for the turn, or for the whole runner."""

    GO_ON = auto()
    """Accepted."""
    RETRY = auto()
    """The service could not answer: repeat, with growing pauses. The agent goes on."""
    OVER = auto()
    """The turn is not this runner's any more: stop the agent, drop the result, never retry."""
    GONE = auto()
    """Session or turn do not exist: as OVER, and the session is forgotten if it is the one."""
    TAKEN = auto()
    """Another claim holds the turn: poll on."""
    CONFLICT = auto()
    """An earlier result of this turn stands: drop this one."""
    REVOKED = auto()
    """The token or the runner was revoked: stop the agents, keep results, end the program."""
    TOO_LARGE = auto()
    """Send less."""
    TOO_OLD = auto()
    """This version is not accepted any more: claim nothing, finish what is at work."""
    OWN_BUG = auto()
    """The request was wrong: log it, and do not repeat it as it is."""


@dataclass(frozen=True)
class Answer:
    """An answer; status 0 is none at all. `odd` says what came instead of one of the service's."""

    status: int
    body: dict[str, Any] = field(default_factory=dict)
    retry_after: float = 0.0
    odd: str = ""

    @property
    def code(self) -> str:
        """The service's name for the problem."""
        code = self.body.get("code")
        return code if isinstance(code, str) else ""

    @property
    def why(self) -> str:
        """The service's reason in words, without a full stop."""
        without = f"HTTP {self.status}" if self.status else "the service does not answer"
        return str(self.body.get("detail") or self.body.get("title") or without).rstrip(".")

    @property
    def noted(self) -> str:
        """For the log: the problem's name, or what came instead of an answer."""
        return self.code or self.odd or "-"

    @property
    def verdict(self) -> Verdict:
        """The reaction to this answer."""
        return _BY_CODE.get((self.status, self.code)) or _by_status(self.status, known=bool(self.code))


_BY_CODE = {
    (409, "ended"): Verdict.OVER,
    (409, "superseded"): Verdict.OVER,
    (409, "taken"): Verdict.TAKEN,
    (409, "other_result"): Verdict.CONFLICT,
    (409, "conflict"): Verdict.RETRY,
    (404, "unknown_turn"): Verdict.GONE,
    (404, "unknown_order"): Verdict.OVER,
    (404, "unknown_session"): Verdict.GONE,
    (404, "unknown_runner"): Verdict.GONE,
}
_BY_STATUS = {
    401: Verdict.REVOKED,
    403: Verdict.REVOKED,
    409: Verdict.OVER,
    413: Verdict.TOO_LARGE,
    426: Verdict.TOO_OLD,
    429: Verdict.RETRY,
    408: Verdict.RETRY,
}


def _by_status(status: int, *, known: bool) -> Verdict:
    if 200 <= status < 300:
        return Verdict.GO_ON
    # A proxy or another server answers without a code: that says nothing about the turn.
    if status == 0 or status >= 500 or not (known or status in {401, 413, 426, 429}):
        return Verdict.RETRY
    return _BY_STATUS.get(status, Verdict.OWN_BUG)
