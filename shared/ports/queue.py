"""The queue that starts turns, and its dead letters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.routes import Place


@dataclass(frozen=True)
class Kickoff:
    """Run the kickoff turn of a handoff; while its session has not moved yet, check whether the handoff is due."""

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


TurnMessage = Kickoff | InboxEvent | Notice


class TurnQueue(Protocol):
    """Turn messages, in order and one at a time per line."""

    def send(self, message: TurnMessage, *, dedupe: str, line: str | None = None) -> None:
        """Queue a message; the same `dedupe` in the same line within five minutes is queued once.

        Messages of one `line` are received in order, one at a time. The default line is the place. Another line is for
        messages that must not wait behind one whose reader has died.
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
