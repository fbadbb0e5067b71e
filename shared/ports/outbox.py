"""The outbox: the journal of what is delivered to chats."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol
from urllib.parse import quote, unquote

from shared.domain.routes import Place
from shared.ports.platforms import Part


@dataclass(frozen=True)
class OutPart:
    """One part of a committed reply in the delivery journal: waiting → sending → sent, or rejected.

    `tries` counts the claims of senders. `placeholder` is a message that waits to be edited into a marked repeat.
    `unknown`: a state that a newer version has stored.
    """

    session_id: str
    turn_id: str
    number: int
    place: Place
    part: Part
    state: Literal["waiting", "sending", "sent", "rejected", "unknown"] = "waiting"
    message_id: str | None = None
    sending_until: int = 0
    tries: int = 0
    placeholder: str | None = None

    @property
    def key(self) -> str:
        """The idempotency key of a send of this part: a turn's id is used for one place only, as a platform may compare
        the keys of all its places."""
        return f"{self.turn_id}#{self.number}"

    @property
    def address(self) -> str:
        """A key that also names the session, so that a receipt leads to the part."""
        return "/".join(quote(text, safe="") for text in (self.session_id, self.turn_id, str(self.number)))


def part_at(address: str) -> tuple[str, str, int]:
    """Session, turn and number of the part with this address. Raises ValueError."""
    session_id, turn_id, number = (unquote(text) for text in address.split("/"))
    return session_id, turn_id, int(number)


class Outbox(Protocol):
    """The delivery journal. The parts of a turn enter it with the turn's commit, notices with `post`."""

    def post(self, parts: Sequence[OutPart], *, now: int) -> None:
        """Add parts that belong to no turn. Parts that exist already stay as they are."""

    def journal(self, session_id: str, turn_id: str) -> Sequence[OutPart]:
        """The parts of a turn or notice, in order; empty if it was never committed or posted."""

    def sending(self, part: OutPart, *, now: int, until: int) -> OutPart | None:
        """Record the intent to send; None if the part is sent already or another worker is sending it."""

    def placed(self, part: OutPart, placeholder: str) -> OutPart:
        """Record the placeholder of a repeat before it is edited, so that the next sender finishes this one."""

    def sent(self, part: OutPart, message_id: str) -> None: ...
    def rejected(self, part: OutPart) -> None: ...

    def reported(self, address: str, place: Place, message_id: str | None) -> None:
        """The platform itself says that a part of this place was sent, or with None refused. Decided parts stay as they are.

        Ignores what is not the address of a part.
        """

    def unsent(self, part: OutPart) -> None:
        """Withdraw the intent: the part was certainly not sent."""
