"""A session: one conversation, living in exactly one place at a time."""

from dataclasses import dataclass
from enum import StrEnum

from shared.domain.routes import CLI, Place, cli_place

MAX_TITLE = 200


class Interruption(StrEnum):
    """Why the last turn of a session did not end well.

    KILLED: its process went away without a word (crash, restart).
    OUT_OF_TIME: it came near the function's limit and stopped itself.
    REDELIVERED: the queue gave the same work again while nothing had been committed.
    """

    KILLED = "killed"
    OUT_OF_TIME = "out_of_time"
    REDELIVERED = "redelivered"


@dataclass(frozen=True)
class ResumePending:
    """A mark on a session whose last turn was interrupted; the next attempt tells the agent."""

    reason: Interruption
    at: int


@dataclass(frozen=True)
class TurnLease:
    """The one turn that a session may have under way, and until when it may be alive."""

    id: str
    lease_until: int


@dataclass(frozen=True)
class Session:
    """What is known of a session beside its transcript. Every write to it bumps `version`; every move bumps `epoch`."""

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

    @property
    def cli(self) -> Place:
        """The terminal that this session began in, or would be resumed into."""
        return cli_place(self.id)

    @property
    def owner_name(self) -> str:
        """Where it lives, as clients read it: `cli`, or the route of a chat."""
        return CLI if self.owner.is_cli else self.owner.route

    @property
    def shown_title(self) -> str:
        """A name for people: the title, else the first 8 characters of the id."""
        return self.title or self.id[:8]

    def has_live_turn(self, now: int) -> bool:
        """Whether a turn is accepted, queued or running; its lease bounds how long that is believed."""
        return self.turn is not None and self.turn.lease_until > now


def new_session(session_id: str, user_id: str, *, now: int) -> Session:
    """A session in which nothing was said yet, in its terminal."""
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
