"""Orders: what a person asks of a machine outside a turn."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.routes import Place

OPEN_FOR = 60_000
"""Milliseconds in which a machine may take an order."""
WORDS_WITHIN = 20_000
"""Milliseconds in which what was said behind a voice message waits for its words."""
LEASE = 60_000
"""Milliseconds in which the process that has taken it does it, or renews."""
LONGEST = 180_000
"""Milliseconds after the first take in which it is done, however often it is renewed or taken again."""
TAKES = 3
"""How often an order is taken at most: a process that it kills must not be the reason for the next one."""
MAX_ANSWER = 16 * 1024
"""Characters of an answer, its options included."""


SESSIONS, BRING, BEGIN, DIFF, TRANSCRIBE = "sessions", "bring", "begin", "diff", "transcribe"
"""Kinds of orders beside the dials: list native sessions, bring one to a thread, begin one there, show what changed, turn a
voice message into words."""
SILENT = frozenset({SESSIONS, TRANSCRIBE})
"""Kinds whose answer is kept in the order, for what has made it, and is not said in the chat by itself."""
MOVING = frozenset({BRING, BEGIN})
"""Kinds that end with a handoff, which their runner requests."""


class OrderState(StrEnum):
    """offered → taken → done, or void from either. UNKNOWN: stored by another version."""

    OFFERED = "offered"
    TAKEN = "taken"
    DONE = "done"
    VOID = "void"
    UNKNOWN = "unknown"


class Void(StrEnum):
    """Why an order is not done."""

    UNTAKEN = "untaken"
    UNFINISHED = "unfinished"
    REVOKED = "revoked"
    MOVED = "moved"
    CHOSEN_AGAIN = "chosen_again"


VOID_TEXTS = {
    Void.UNTAKEN: "Your machine did not answer, so nothing was changed. Try again when `handoff run` runs there.",
    Void.UNFINISHED: "Your machine began with this and did not finish it. Look at `/status`, then try again.",
    Void.REVOKED: "Your machine was revoked before it answered, so nothing was changed.",
    Void.MOVED: "This session moved before your machine answered, so nothing was changed.",
    Void.CHOSEN_AGAIN: "You chose again after this, so the later choice stays.",
}


PRESSED = "!"
"""With it begins the id of a row that a press has made: it sorts before all messages."""


@dataclass(frozen=True)
class Moment:
    """When a person chose something: the id of the row that said it, in the chat where the session lived at this epoch.

    Ids of presses and of messages may count differently, so those two are compared by the time of their arrival.
    """

    row: str
    at: int
    epoch: int

    def is_after(self, other: "Moment") -> bool:
        if self.epoch != other.epoch:
            return self.epoch > other.epoch
        if self.row.startswith(PRESSED) == other.row.startswith(PRESSED):
            return self.row > other.row
        return self.at > other.at


@dataclass(frozen=True)
class Choice:
    """One value that an agent offers for one of its options."""

    value: str
    name: str
    description: str = ""


@dataclass(frozen=True)
class Native:
    """A session of an agent on a machine, as its runner lists it.

    `id` is the runner's own word for it, `age` the seconds since it was written. `is_open`: a terminal has it open, None if
    the runner cannot tell. `session_id` is this service's, if the machine has handed it over before.
    """

    id: str
    title: str
    project: str
    agent: str
    age: int
    is_open: bool | None = None
    session_id: str = ""


@dataclass(frozen=True)
class Order:
    """One order of a user to one of the user's runners, made by a command: the row `row` at `place`.

    `argument` is a value that the runner checks itself: never a path, a command or a program. An order that concerns a
    session names its epoch, and its agent there. `fence` counts how often it was taken. `choices` are what its answer
    offered. `digest` is that of the answer. `said_at` is when the command came in.

    One that ends with a handoff: `once` is the same for orders that may lead to one handoff only, `made` is the session that
    its runner stores for it, `handoff_id` the handoff that it requested; `skip` counts the words of the command's argument
    before the first one for the agent. `listed` and `said` are the sessions that an answer lists, and what it says of them, or
    the words of a voice message. `is_refused`: the machine did not do it.
    """

    id: str
    user_id: str
    runner_id: str
    kind: str
    argument: str
    place: Place
    row: str
    created_at: int
    session_id: str = ""
    epoch: int = 0
    agent: str = ""
    native_id: str = ""
    state: OrderState = OrderState.OFFERED
    fence: int = 0
    claim_id: str | None = None
    taken_at: int = 0
    lease_until: int = 0
    digest: str | None = None
    choices: Sequence[Choice] = ()
    once: str = ""
    made: str = ""
    handoff_id: str = ""
    skip: int = 0
    said_at: int = 0
    listed: Sequence[Native] = ()
    said: str = ""
    is_refused: bool = False

    @property
    def journal(self) -> str:
        """The id of its answer in the outbox: that of the answer to its command, of which there is one."""
        return f"told-{self.row}"

    @property
    def moment(self) -> Moment:
        return Moment(self.row, self.said_at, self.epoch)

    @property
    def open_for(self) -> int:
        return WORDS_WITHIN if self.kind == TRANSCRIBE else OPEN_FOR

    @property
    def expires_at(self) -> int:
        """Until when it may be taken for the first time."""
        return self.created_at + self.open_for

    @property
    def is_open(self) -> bool:
        return self.state in (OrderState.OFFERED, OrderState.TAKEN)

    def may_be_taken(self, now: int) -> bool:
        if self.state is OrderState.OFFERED:
            return now < self.expires_at
        return self.state is OrderState.TAKEN and self.lease_until <= now and self.fence < TAKES

    def overdue(self, now: int) -> Void | None:
        """Why it will not be done any more, by its times alone."""
        if self.state is OrderState.OFFERED and now >= self.expires_at:
            return Void.UNTAKEN
        is_last = self.fence >= TAKES and self.lease_until <= now
        if self.state is OrderState.TAKEN and (is_last or now >= self.taken_at + LONGEST):
            return Void.UNFINISHED
        return None
