"""The queue of messages for places with its dead letters, and the queue of turns for the agent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.routes import Place


@dataclass(frozen=True)
class Kickoff:
    """Look after a handoff: once its session has moved, as a wake-up does; before that, check whether it is due."""

    place: Place
    handoff_id: str


@dataclass(frozen=True)
class InboxEvent:
    """Answer the new rows in the inbox of a place, this event among them."""

    place: Place
    event_id: str


@dataclass(frozen=True)
class Notice:
    """Post a text of the service at a place, once per `event_id`."""

    place: Place
    event_id: str
    text: str


@dataclass(frozen=True)
class WakeUp:
    """Settle the turns of a session that have ended, then look at the inbox of the place."""

    place: Place
    session_id: str


@dataclass(frozen=True)
class Show:
    """Show what a turn at work reports and asks, at its place."""

    place: Place
    session_id: str
    turn_id: str


@dataclass(frozen=True)
class Ready:
    """Look at the inbox of a place until the files of this event were read, or are given up. In a line of its own."""

    place: Place
    event_id: str


TurnMessage = Kickoff | InboxEvent | Notice | WakeUp | Show | Ready


class TurnQueue(Protocol):
    """Turn messages, in order and one at a time per line."""

    def send(self, message: TurnMessage, *, dedupe: str, line: str | None = None) -> None:
        """Queue a message; the same `dedupe` in the same line within five minutes is queued once.

        Messages of one `line` are received in order, one at a time. The default line is the place. Another line is for
        messages that must not wait behind one whose reader has died.
        """


@dataclass(frozen=True)
class Run:
    """Let the agent take a turn that was offered. A hint only: the claim decides whether there is a turn to take."""

    session_id: str
    turn_id: str


@dataclass(frozen=True)
class Fetch:
    """Read the files of a message from its platform, for the session that answers it. A hint only, likewise."""

    place: Place
    event_id: str
    session_id: str


RunMessage = Run | Fetch
MAX_DELAY = 900.0
"""The longest delay of a message for the agent, in seconds."""


class RunQueue(Protocol):
    """What takes longer than a place may wait, in no order: turns for the agent, and files to read.

    A message may be received several times, and by several workers at once.
    """

    def send(self, run: RunMessage, *, delay: float = 0.0, again: float | None = None) -> None:
        """Queue a run. It is received after `delay` seconds, at most MAX_DELAY; a queue may round up to whole ones.

        `again`: and once more after so many seconds, counted from now as `delay` is. If it raises, the first one may be queued.
        """


@dataclass(frozen=True)
class DeadTurn:
    """A message that was received too often without success."""

    message: TurnMessage
    handle: str


class DeadTurns(Protocol):
    """The dead-letter queue, which the sweep reads."""

    def receive(self, *, limit: int) -> Sequence[DeadTurn]: ...
    def delete(self, dead: DeadTurn) -> None: ...


class Visibility(Protocol):
    """The visibility time-out of the queue message that a turn is working on."""

    def set(self, seconds: int) -> None:
        """Make the message visible again in so many seconds, unless it is deleted first. Best effort."""
