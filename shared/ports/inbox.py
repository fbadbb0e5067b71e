"""What people said in chats, until it is answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.routes import Place


@dataclass(frozen=True)
class InboxRow:
    """One inbound event at a place, by a known user: new until a turn (or a word of ours) has answered it.

    `done_by` is `<session>/<turn>` for a turn, so that its delivery can be finished, else a plain word.
    """

    place: Place
    event_id: str
    sender: str
    text: str
    received_at: int
    user_id: str = ""
    done_by: str | None = None


class Inbox(Protocol):
    """What people said, one row per event; its key is the dedupe."""

    def put(self, row: InboxRow) -> bool:
        """Write a new row; False if this event is already there."""

    def new(self, place: Place, *, limit: int) -> Sequence[InboxRow]:
        """Rows not yet answered, in the order of speaking."""

    def get(self, place: Place, event_id: str) -> InboxRow | None: ...

    def close(self, rows: Sequence[InboxRow], *, by: str) -> None:
        """Mark rows as answered outside a turn's commit (told where the session lives, a command). Safe to repeat."""
