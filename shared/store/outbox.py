"""The outbox: the journal of what is delivered to chats."""

import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args
from urllib.parse import quote, unquote

from shared.domain.files import StoredFile, stored_file
from shared.domain.routes import Place
from shared.ports.conditions import Condition, absent, both, either, equals, one_of
from shared.ports.platforms import Button, Part, Style
from shared.ports.tables import ConditionFailed, Item, Key, Put, Table, Tables, Update
from shared.store.keys import out_key, session_partition
from shared.store.values import is_number, is_over, list_at, map_at, number_at, place_at, text_at, time_at
from shared.store.versions import is_newer, stamped

log = logging.getLogger(__name__)
KEEP_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True)
class OutPart:
    """One part of a committed reply in the delivery journal: waiting → sending → sent, or rejected.

    With a `file` its text is the caption; where nobody can know whether it arrived, and a marked repeat neither, it ends as
    doubtful. `reason` says why the user gets no file. `tries` counts the claims of senders. `placeholder` is a message that
    waits to be edited into a marked repeat; of a file, it says that the repeat was begun.
    `file_of` is the session that has the file, if the part belongs to a notice. `unknown`: a state that a newer version has
    stored. `is_counted`: False if the stored `tries` cannot be read.
    """

    session_id: str
    turn_id: str
    number: int
    place: Place
    part: Part
    state: Literal["waiting", "sending", "sent", "rejected", "doubtful", "unknown"] = "waiting"
    message_id: str | None = None
    sending_until: int = 0
    tries: int = 0
    placeholder: str | None = None
    is_counted: bool = True
    file: StoredFile | None = None
    file_of: str = ""
    reason: str = ""

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


def new_part(part: OutPart, now: int) -> Put:
    """The write that adds a part to the journal."""
    item = {
        **out_key(part.session_id, part.turn_id, part.number),
        "route": part.place.route,
        "text": part.part.text,
        "extra": dict(part.part.extra) or None,
        "buttons": [asdict(button) for button in part.part.buttons] or None,
        "file": part.file.value() if part.file else None,
        "file_of": part.file_of or None,
        "reason": part.reason or None,
        "state": part.state,
        "expires_at": now // 1000 + KEEP_SECONDS,
    }
    return Put(Table.SESSIONS, stamped(item), [absent("pk")])


_STATES = ("waiting", "sending", "sent", "rejected", "doubtful")


def _part_of(item: Item) -> OutPart | None:
    """An item as a part; None for one without a place or a state, which must not hold up the parts behind it."""
    turn_id, _, number = item["sk"].removeprefix("OUT#").rpartition("#")
    place = place_at(item, "route")
    if place is None or not number.isdecimal() or not isinstance(item.get("state"), str):
        log.error("%s %s cannot be read", item["pk"], item["sk"])
        return None
    return OutPart(
        session_id=item["pk"].removeprefix("SESSION#"),
        turn_id=turn_id,
        number=int(number),
        place=place,
        part=Part(text_at(item, "text", ""), map_at(item, "extra"), _buttons_of(item)),
        state=item["state"] if item["state"] in _STATES and not is_newer(item) else "unknown",
        message_id=text_at(item, "message_id"),
        sending_until=time_at(item, "sending_until"),
        tries=number_at(item, "tries"),
        is_counted="tries" not in item or is_number(item["tries"]),
        placeholder=text_at(item, "placeholder"),
        file=stored_file(item.get("file")),
        file_of=text_at(item, "file_of", ""),
        reason=text_at(item, "reason", ""),
    )


def _buttons_of(item: Item) -> tuple[Button, ...]:
    """The buttons of a part; an unknown style is the default one, and a list with an unknown kind of button is empty."""
    try:
        return tuple(Button(entry["id"], entry["label"], _style_of(entry)) for entry in list_at(item, "buttons"))
    except (TypeError, ValueError, LookupError, AttributeError):
        return ()


def _style_of(entry: Item) -> Style:
    return next((style for style in get_args(Style) if style == entry.get("style")), "default")


def outbox_parts(tables: Tables, session_id: str, prefix: str) -> list[OutPart]:
    """The parts whose journal begins so, in order."""
    items = tables.query(session_partition(session_id), low=f"OUT#{prefix}")
    return [part for part in map(_part_of, items) if part]


class Outbox:
    """The delivery journal. The parts of a turn enter it with the turn's commit, notices with `post`.

    waiting ──sending──> sending(until) ──sent──> sent
       ^                   │    └──rejected──> rejected, ──doubtful──> doubtful (files)
       └─────unsent────────┤  `reported` decides a part that is waiting or sending, as the platform says
                           └── `until` passes: the next sender must first find out whether the part arrived
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def post(self, parts: Sequence[OutPart], *, now: int) -> None:
        """Add parts that belong to no turn. Parts that exist already stay as they are."""
        for part in parts:
            with contextlib.suppress(ConditionFailed):
                self._tables.put(new_part(part, now))

    def journal(self, session_id: str, turn_id: str) -> Sequence[OutPart]:
        """The parts of a turn or notice, in order; empty if it was never committed or posted.

        The prefix also matches turns whose id continues with `#`; those are dropped.
        """
        return [part for part in outbox_parts(self._tables, session_id, f"{turn_id}#") if part.turn_id == turn_id]

    def sending(self, part: OutPart, *, now: int, until: int) -> OutPart | None:
        """Record the intent to send; None if the part is sent already or another worker is sending it."""
        abandoned = both(equals("state", "sending"), is_over("sending_until", now))
        try:
            item = self._tables.update(
                Update(
                    Table.SESSIONS,
                    out_key(part.session_id, part.turn_id, part.number),
                    when=[either(equals("state", "waiting"), abandoned)],
                    set={"state": "sending", "sending_until": until, **({} if part.is_counted else {"tries": 1})},
                    add={"tries": 1} if part.is_counted else {},
                )
            )
        except ConditionFailed:
            return None
        return _part_of(item)

    def placed(self, part: OutPart, placeholder: str | None) -> OutPart:
        """Record the placeholder of a repeat before it is edited, so that the next sender finishes this one.

        None: the repeat was certainly not sent.
        """
        key = out_key(part.session_id, part.turn_id, part.number)
        with contextlib.suppress(ConditionFailed):
            self._tables.update(Update(Table.SESSIONS, key, when=_UNDECIDED, set={"placeholder": placeholder}))
        return replace(part, placeholder=placeholder)

    def sent(self, part: OutPart, message_id: str) -> None:
        """Accepted from a sender that lost its claim too: the part was sent."""
        self._decide(part, {"state": "sent", "message_id": message_id, **_FORGOTTEN}, when=_UNDECIDED)

    def rejected(self, part: OutPart, *, reason: str = "") -> None:
        self._decide(
            part, {"state": "rejected", **({"reason": reason} if reason else {}), **_FORGOTTEN}, when=_UNDECIDED
        )

    def doubtful(self, part: OutPart) -> None:
        """A file that may have arrived, once or twice: it is not sent again."""
        self._decide(part, {"state": "doubtful", **_FORGOTTEN}, when=_UNDECIDED)

    def withdrawn(self, part: OutPart) -> None:
        """Reject a part that no sender has begun."""
        self._decide(part, {"state": "rejected", **_FORGOTTEN}, when=[equals("state", "waiting")])

    def reported(self, address: str, place: Place, message_id: str | None) -> None:
        """The platform itself says that a part of this place was sent, or with None refused. Decided parts stay as they are.

        Ignores what is not the address of a part.
        """
        try:
            key = out_key(*part_at(address))
        except ValueError:
            return
        state = {"state": "rejected"} if message_id is None else {"state": "sent", "message_id": message_id}
        self._write(key, {**state, **_FORGOTTEN}, when=[*_UNDECIDED, equals("route", place.route)])

    def unsent(self, part: OutPart) -> None:
        """Withdraw the intent: the part was certainly not sent."""
        claim_is_mine = [equals("state", "sending"), equals("sending_until", part.sending_until)]
        self._decide(part, {"state": "waiting"}, when=claim_is_mine)

    def _decide(self, part: OutPart, change: Mapping[str, Any], *, when: Sequence[Condition]) -> None:
        self._write(out_key(part.session_id, part.turn_id, part.number), change, when=when)

    def _write(self, key: Key, change: Mapping[str, Any], *, when: Sequence[Condition]) -> None:
        with contextlib.suppress(ConditionFailed):
            self._tables.update(Update(Table.SESSIONS, key, when=when, set={**change, "sending_until": None}))


_UNDECIDED = [one_of("state", ["waiting", "sending"])]
_FORGOTTEN = {"text": None, "extra": None, "buttons": None, "file": None, "file_of": None}
"""A decided part is never sent again. Notices name sessions, so their texts must not outlive those in the journal."""
