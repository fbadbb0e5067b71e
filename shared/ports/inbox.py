"""Messages of people in chats, until they are answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.routes import Place

STOPPED = "stopped"
"""What closed a row that was said before `/stop`."""
DEAD = "dead letter"
"""What closed a row whose every attempt failed."""


@dataclass(frozen=True)
class InboxRow:
    """One inbound event at a place, by a known user: new until a turn or a notice has answered it.

    `done_by` is `<session>/<turn>` for a turn, so that its delivery can be finished, else the name of what answered.
    `epoch` is the one at which a terminal's turn was accepted.
    `is_newer`: a newer version works on it, in a status that this one does not know.
    `private`: only the sender and the bot are in the chat.
    """

    place: Place
    event_id: str
    sender: str
    text: str
    received_at: int
    user_id: str = ""
    done_by: str | None = None
    epoch: int | None = None
    is_newer: bool = False
    private: bool = False


class Inbox(Protocol):
    """One row per inbound event; its key removes duplicates."""

    def put(self, row: InboxRow) -> bool:
        """Write a new row; False if this event is already there."""

    def new(self, place: Place, *, limit: int) -> Sequence[InboxRow]:
        """Rows not yet answered, in the order in which they were written."""

    def get(self, place: Place, event_id: str) -> InboxRow | None: ...

    def close(self, rows: Sequence[InboxRow], *, by: str) -> None:
        """Mark rows as answered outside a turn's commit (by a notice or a command). Safe to repeat."""
