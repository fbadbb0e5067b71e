"""The queue that wakes turns, and what it gave up on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.routes import Place


@dataclass(frozen=True)
class TurnMessage:
    """A wake-up for one place, of one of three kinds.

    `handoff_id`: run the kickoff of that handoff. `event_id`: answer the rows in the place's inbox, this one
    among them. `notice`: post these words of ours.
    """

    place: Place
    handoff_id: str | None = None
    event_id: str | None = None
    notice: str | None = None


class TurnQueue(Protocol):
    """Wake-ups in order, one at a time per place."""

    def send(self, message: TurnMessage, *, dedupe: str, line: str | None = None) -> None:
        """Queue a wake-up; the same `dedupe` within five minutes is queued once.

        Without `line` it waits in the line of its place. A line of its own is for what must not wait behind a message
        whose reader died without a word.
        """


@dataclass(frozen=True)
class DeadTurn:
    """A wake-up that the queue gave up on."""

    message: TurnMessage
    handle: str


class DeadTurns(Protocol):
    """Wake-ups that failed too often, for the sweep to answer for."""

    def receive(self, *, limit: int) -> Sequence[DeadTurn]: ...
    def delete(self, dead: DeadTurn) -> None: ...


class Visibility(Protocol):
    """The hold on the queue message that a turn is working on."""

    def set(self, seconds: int) -> None:
        """Let the message come back in so many seconds unless it is done by then. Best effort."""
