"""A session: one conversation, living in exactly one place at a time."""

from dataclasses import dataclass
from enum import StrEnum

from shared.domain.routes import CLI, Place, cli_place

MAX_TITLE = 200


class Interruption(StrEnum):
    """Why the last turn of a session was interrupted.

    KILLED: its process died (crash, restart).
    OUT_OF_TIME: it stopped shortly before the function's time limit.
    REDELIVERED: it failed unexpectedly before its commit, so the queue delivers the message again.
    UNKNOWN: another version of the service stored a reason that this one does not know. Only read, never written.
    """

    KILLED = "killed"
    OUT_OF_TIME = "out_of_time"
    REDELIVERED = "redelivered"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class ResumePending:
    """The mark of an interrupted turn; the next turn tells the agent."""

    reason: Interruption
    at: int


@dataclass(frozen=True)
class TurnLease:
    """The one turn of a session that is accepted or running, and when its lease expires."""

    id: str
    lease_until: int


@dataclass(frozen=True)
class FailedTries:
    """How often an agent could not answer a turn. Tries of another turn do not count."""

    turn: str
    count: int


@dataclass(frozen=True)
class Session:
    """A session without its transcript. Every write increments `version`, every move increments `epoch`."""

    id: str
    user_id: str
    owner: Place
    epoch: int
    version: int
    message_count: int
    created_at: int
    updated_at: int
    title: str | None = None
    source: str | None = None
    cwd: str | None = None
    model: str | None = None
    link: str | None = None
    active_handoff: str | None = None
    turn: TurnLease | None = None
    strikes: int = 0
    resume_pending: ResumePending | None = None
    suspended: bool = False
    uploaded_bytes: int = 0
    failed_tries: FailedTries | None = None

    @property
    def cli(self) -> Place:
        """The terminal of this session."""
        return cli_place(self.id)

    @property
    def owner_name(self) -> str:
        """Where it lives, as clients read it: `cli`, or the route of a chat."""
        return CLI if self.owner.is_cli else self.owner.route

    @property
    def shown_title(self) -> str:
        """The title, or the first 8 characters of the id."""
        return self.title or self.id[:8]

    def tries_of(self, turn: str) -> int:
        """How often an agent could not answer this turn."""
        return self.failed_tries.count if self.failed_tries and self.failed_tries.turn == turn else 0

    def has_live_turn(self, now: int) -> bool:
        """Whether a turn is accepted, queued or running and its lease has not expired."""
        return self.turn is not None and self.turn.lease_until > now


def new_session(session_id: str, user_id: str, *, now: int) -> Session:
    """A session without messages, in its terminal."""
    return Session(
        id=session_id,
        user_id=user_id,
        owner=cli_place(session_id),
        epoch=0,
        version=0,
        message_count=0,
        created_at=now,
        updated_at=now,
    )
