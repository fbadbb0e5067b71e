"""A handoff: one request to move a session, and the table of its transitions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from shared.domain.messages import KICKOFF_PREFIX
from shared.domain.routes import Place

MAX_REASON = 500
MAX_ATTEMPTS = 5


class State(StrEnum):
    """Where a handoff stands.

    PENDING: waiting to be claimed, also after an attempt that is to be repeated.
    RUNNING: one process has its fence and lease, or the queue has its kickoff turn.
    COMPLETED: the agent has confirmed in the thread; the session lives there.
    FAILED: it could not be done; the session is where it was before.
    CANCELLED: the user cancelled it, or resumed the session before it was done.
    """

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN = frozenset({State.PENDING, State.RUNNING})


@dataclass(frozen=True)
class Transition:
    """From which states a change may start, and where it leads (None: the state stays as it is)."""

    sources: frozenset[State]
    target: State | None


TRANSITIONS: Mapping[str, Transition] = MappingProxyType(
    {
        "request": Transition(frozenset(), State.PENDING),
        "claim": Transition(frozenset({State.PENDING}), State.RUNNING),
        "step": Transition(frozenset({State.RUNNING}), None),
        "rebind": Transition(frozenset({State.RUNNING}), None),
        "confirm": Transition(OPEN, None),
        "complete": Transition(OPEN, State.COMPLETED),
        "fail": Transition(OPEN, State.FAILED),
        "expire": Transition(OPEN, State.FAILED),
        "cancel": Transition(OPEN, State.CANCELLED),
        "resume": Transition(OPEN, State.CANCELLED),
        "back_to_pending": Transition(frozenset({State.RUNNING}), State.PENDING),
        "nudge": Transition(frozenset({State.PENDING}), None),
        "drive": Transition(OPEN, None),
    }
)


class Step(StrEnum):
    """The steps of a handoff, in order."""

    REQUESTED = "requested"
    CLAIMED = "claimed"
    OPENING_THREAD = "opening_thread"
    THREAD_OPENED = "thread_opened"
    MOVED = "moved"
    KICKOFF_SENT = "kickoff_sent"
    CONFIRMED = "confirmed"
    DELIVERED = "delivered"
    COMPLETED = "completed"


STEP_LABELS: Mapping[Step, str] = MappingProxyType(
    {
        Step.REQUESTED: "requested",
        Step.CLAIMED: "picked up",
        Step.THREAD_OPENED: "thread opened",
        Step.MOVED: "session moved",
        Step.KICKOFF_SENT: "agent asked to confirm",
        Step.CONFIRMED: "agent confirmed",
        Step.DELIVERED: "confirmation delivered",
        Step.COMPLETED: "completed",
    }
)
"""The steps that users see; the intent `opening_thread` is not among them."""


@dataclass(frozen=True)
class Reason:
    """Why a handoff or its last attempt failed; a long message is cut."""

    code: str
    message: str

    def __post_init__(self) -> None:
        if len(self.message) > MAX_REASON:
            object.__setattr__(self, "message", self.message[: MAX_REASON - 1] + "…")


@dataclass(frozen=True)
class Thread:
    """The thread of a handoff, or the chat itself where no thread could be opened, with its link."""

    place: Place
    url: str

    @property
    def id(self) -> str:
        """The platform's id of the thread, or of the chat where there is no thread."""
        return self.place.thread or self.place.chat


@dataclass(frozen=True)
class Receipt:
    """The agent's input: the number of messages by role, and their digest."""

    by_role: Mapping[str, int]
    digest: str
    message_count: int


@dataclass(frozen=True)
class Handoff:
    """One request to move one session.

    `fence` grows with each claim, and a writer with an older fence is refused. A failed handoff moves its session back
    to `origin`, but only while the session has `bound_epoch`, the epoch that the rebind wrote. `command` is the event of
    the command that asked for it, if a chat did: at `origin`, or at `asked_at` for a session that comes from elsewhere.
    `share`: other people may speak in the thread. `begins`: the session is new, and `message` its first words.
    """

    id: str
    session_id: str
    user_id: str
    platform: str
    target: Place
    origin: Place
    request_epoch: int
    body_hash: str
    state: State
    deadline: int
    created_at: int
    updated_at: int
    message: str | None = None
    require_thread: bool = False
    replace: bool = False
    share: bool = False
    command: str | None = None
    asked_at: Place | None = None
    begins: bool = False
    attempt: int = 0
    fence: int = 0
    claimant: str | None = None
    lease_until: int = 0
    not_before: int = 0
    steps: Mapping[str, int] = field(default_factory=dict)
    thread: Thread | None = None
    bound_epoch: int | None = None
    confirmed: bool = False
    notice: str | None = None
    error: Reason | None = None
    receipt: Receipt | None = None
    nudges: int = 0
    is_newer: bool = False
    """Stored by a newer version in a form or state that this one does not know: shown, but not changed."""

    @property
    def command_place(self) -> Place:
        """Where its command was typed, if there is one."""
        return self.asked_at or self.origin

    @property
    def is_open(self) -> bool:
        """Whether it is pending or running; the other states are final."""
        return self.state in OPEN

    @property
    def is_bound(self) -> bool:
        """Whether the session has moved on behalf of this handoff."""
        return self.bound_epoch is not None

    @property
    def version(self) -> str:
        """Another text after each change that users see. The steps tell apart what happened in one millisecond."""
        return f"{self.updated_at}-{len(self.steps)}"

    @property
    def kickoff_turn(self) -> str:
        """The id of its kickoff turn, the same on every attempt, so that it is committed once."""
        return f"{KICKOFF_PREFIX}{self.id}"

    def has_done(self, step: Step) -> bool:
        """Whether a step is journalled."""
        return step.value in self.steps

    def shown_steps(self) -> list[dict[str, Any]]:
        """The steps that users see, in the order in which they happened."""
        done = [
            (self.steps[step.value], step, label) for step, label in STEP_LABELS.items() if step.value in self.steps
        ]
        done.sort(key=lambda entry: entry[0])
        return [{"name": step.value, "at": at, "label": label} for at, step, label in done]
