"""The inbox: one row per inbound event."""

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from shared.domain.attachments import KINDS, OTHER, Attachment
from shared.domain.commands import parse_command
from shared.domain.files import ChatFile, Read, Spoken, Unread, stored_file
from shared.domain.routes import Place, place_of
from shared.ports.conditions import Condition, absent, at_most, both, differs, either, equals, present, unless_more_than
from shared.ports.tables import ConditionFailed, Item, Put, Table, Tables, Update, updated
from shared.store.keys import inbox_key, inbox_partition, unreadable_key
from shared.store.values import is_number, is_set, list_at, number_at, text_at, time_at
from shared.store.versions import VERSION, is_newer, stamped

log = logging.getLogger(__name__)
KEEP_SECONDS = 30 * 24 * 3600
"""Longer than a queue keeps a message (14 days at most): a late redelivery still finds its row done."""
_LOOK_BEHIND = 100
UNREADABLE_EVERY = 60_000
"""Milliseconds between two lines at one place that say what cannot be read."""
_KEEP_UNREADABLE_SECONDS = 24 * 3600
STOPPED = "stopped"
"""The closer of a row that was said before `/stop`."""
DEAD = "dead letter"
"""The closer of a row whose every attempt failed."""


@dataclass(frozen=True)
class InboxRow:
    """One inbound event at a place, by a known user: new until a turn or a notice has answered it.

    `done_by` is `<session>/<turn>` for a turn, so that its delivery can be finished, else the name of what answered.
    `epoch` is the one at which a terminal's turn was accepted.
    `is_newer`: a newer version works on it, in a status that this one does not know.
    `private`: only the sender and the bot are in the chat. `written_at` is the time of the platform, if it tells.
    `forwarded`, `attachments` and `album` are those of the platform's message. `queued`: the sender wants it to wait until
    the turn that runs is over.
    `files` are at the platform; `read` is what became of them for the session `read_for`, which asked for them at `asked_at`,
    and `tries` how often the reading has begun.
    """

    place: Place
    event_id: str
    sender: str
    text: str
    received_at: int
    user_id: str
    done_by: str | None = None
    epoch: int | None = None
    is_newer: bool = False
    private: bool = False
    written_at: int | None = None
    forwarded: str = ""
    attachments: tuple[Attachment, ...] = ()
    album: str | None = None
    queued: bool = False
    files: tuple[ChatFile, ...] = ()
    read_for: str | None = None
    asked_at: int = 0
    tries: int = 0
    read: tuple[Read, ...] | None = None

    @property
    def command(self) -> tuple[str, str] | None:
        """The name and the argument of the command that its sender typed in a chat, if it is one."""
        return None if self.place.is_cli or self.queued else parse_command(self.text)

    @property
    def is_unreadable(self) -> bool:
        """Whether nothing of it can be given to the agent."""
        return bool(self.attachments) and not (self.text or self.forwarded or self.files)

    @property
    def said_at(self) -> int:
        """When the sender wrote it, as far as it is known; never after it came here."""
        return self.received_at if self.written_at is None else min(self.written_at, self.received_at)


def row_of(item: Item) -> InboxRow:
    """An inbox item as a row."""
    return InboxRow(
        place=place_of(item["pk"].removeprefix("INBOX#")),
        event_id=item["sk"],
        sender=text_at(item, "sender", ""),
        text=text_at(item, "text", ""),
        received_at=time_at(item, "received_at"),
        user_id=text_at(item, "user", ""),
        done_by=text_at(item, "done_by") if item.get("status") != "new" else None,
        epoch=number_at(item, "epoch") if is_number(item.get("epoch")) else None,
        is_newer=is_newer(item) or item.get("status") not in ("new", "done"),
        private=is_set(item, "private"),
        written_at=time_at(item, "written_at", None),
        forwarded=text_at(item, "forwarded", ""),
        attachments=_attachments_of(item),
        album=text_at(item, "album"),
        queued=is_set(item, "queued"),
        files=tuple(_chat_files_of(item)),
        read_for=text_at(item, "read_for"),
        asked_at=time_at(item, "asked_at"),
        tries=number_at(item, "tries"),
        read=_read_of(item),
    )


def _chat_files_of(item: Item) -> Iterator[ChatFile]:
    """The files of a row. What a newer version has stored in another form cannot be fetched, and is said to be so."""
    for entry in list_at(item, "files"):
        try:
            kind = entry["kind"] if entry["kind"] in KINDS else OTHER
            yield ChatFile(kind, entry["reference"], entry.get("name", ""), entry.get("type", ""), entry.get("size"))
        except (TypeError, ValueError, LookupError, AttributeError):
            yield ChatFile(OTHER, "-")


def _read_of(item: Item) -> tuple[Read, ...] | None:
    if "read" not in item:
        return None
    found = list[Read]()
    for entry in list_at(item, "read"):
        file = stored_file(entry)
        values: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {}
        spoken = Spoken(values["words"]) if isinstance(values.get("words"), str) else None
        found.append(
            file or spoken or Unread(text_at(values, "name", "a file"), text_at(values, "reason", "it was not read"))
        )
    return tuple(found)


def _attachments_of(item: Item) -> tuple[Attachment, ...]:
    """The attachments of a row. What a newer version has stored is of another kind here."""
    try:
        return tuple(
            Attachment(entry["kind"] if entry["kind"] in KINDS else OTHER, entry["count"])
            for entry in item.get("attachments") or ()
        )
    except (TypeError, ValueError, LookupError):
        return (Attachment(OTHER),)


def new_row(row: InboxRow) -> Put:
    """The write that adds a row that is not there yet."""
    item = {
        **inbox_key(row.place, row.event_id),
        "sender": row.sender,
        "text": row.text,
        "received_at": row.received_at,
        "user": row.user_id,
        "epoch": row.epoch,
        "private": row.private or None,
        "written_at": row.written_at,
        "forwarded": row.forwarded or None,
        "attachments": [asdict(attachment) for attachment in row.attachments] or None,
        "album": row.album,
        "queued": row.queued or None,
        "files": [_chat_file_value(file) for file in row.files] or None,
        "read_for": row.read_for,
        "read": None if row.read is None else [file.value() for file in row.read],
        "status": "new",
        "expires_at": row.received_at // 1000 + KEEP_SECONDS,
    }
    return Put(Table.SESSIONS, stamped(item), [absent("pk")])


def _chat_file_value(file: ChatFile) -> Mapping[str, Any]:
    given = {"name": file.name or None, "type": file.media_type or None, "size": file.size}
    return {"kind": file.kind, "reference": file.reference} | {k: v for k, v in given.items() if v is not None}


def close_row(row: InboxRow, by: str) -> Update:
    """new → done. The text is removed: it is in the transcript, or was never meant for it."""
    return Update(
        Table.SESSIONS,
        inbox_key(row.place, row.event_id),
        when=[present("pk"), equals("status", "new")],
        set={"status": "done", "done_by": by, "text": None, "forwarded": None, "files": None, "read": None},
    )


def _as_asked(row: InboxRow) -> list[Condition]:
    """The row's session still waits for its files."""
    return [equals("read_for", row.read_for or ""), absent("read")]


class Inbox:
    """One row per inbound event; its key removes duplicates."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def put(self, row: InboxRow) -> bool:
        """Write a new row; False if this event is already there."""
        try:
            self._tables.put(new_row(row))
        except ConditionFailed:
            return False
        return True

    def new(self, place: Place, *, limit: int) -> Sequence[InboxRow]:
        """Rows not yet answered, in the order in which they were written.

        Reads backwards until a page of rows was done, so that a long history costs nothing.

        A row is done only together with, or after, all earlier rows, but a platform may deliver out of order. A row that
        arrives later than the page reaches is found by its own wake-up only.
        """
        found: list[InboxRow] = []
        done = 0
        rows = self._tables.query(inbox_partition(place), low=" ", high="\U0010ffff", backwards=True, page=_LOOK_BEHIND)
        for item in rows:
            if item.get("status") == "new" and not is_newer(item):
                found.append(row_of(item))
            else:
                done += 1
            if done >= _LOOK_BEHIND:
                break
        return list(reversed(found))[:limit]

    def newest(self, place: Place) -> str:
        """The event of the newest row; empty if there is none."""
        rows = self._tables.query(inbox_partition(place), low=" ", high="\U0010ffff", backwards=True, page=1)
        return str(next(rows, {}).get("sk", ""))

    def get(self, place: Place, event_id: str) -> InboxRow | None:
        """The row of an event; None if there is none, or its status cannot be read."""
        item = self._tables.get(Table.SESSIONS, inbox_key(place, event_id))
        if item is not None and not isinstance(item.get("status"), str):
            log.error("%s %s cannot be read", item["pk"], item["sk"])
            return None
        return row_of(item) if item else None

    def ask_for_files(self, row: InboxRow, session_id: str, *, now: int) -> bool:
        """Note that a session has asked for the files of a row. False if it has asked before, or the row is done."""
        asked = {"read_for": session_id, "asked_at": now, "tries": 0, "read_until": None, "read": None}
        return self._update(row, [differs("read_for", session_id)], set=asked)

    def begin_read(self, row: InboxRow, *, now: int, until: int, most: int) -> bool:
        """Claim the reading of a row's files `until` then, for the session that has asked. False: another reads, or has."""
        when = [unless_more_than("read_until", now), at_most("tries", most - 1)]
        return self._update(row, [*_as_asked(row), *when], set={"read_until": until}, add={"tries": 1})

    def end_read(self, row: InboxRow, read: Sequence[Read] | None) -> bool:
        """What became of the files, once for the session that has asked. None: nothing yet, and another may try."""
        entries = None if read is None else [file.value() for file in read]
        return self._update(row, _as_asked(row), set={"read": entries, "read_until": None})

    def _update(self, row: InboxRow, when: Sequence[Condition], **changes: Any) -> bool:
        key = inbox_key(row.place, row.event_id)
        return updated(self._tables, Update(Table.SESSIONS, key, [equals("status", "new"), *when], **changes))

    def take_unreadable(self, place: Place, subject: str, *, now: int) -> bool:
        """Whether people at the place may be told that `subject`, a message or an album, cannot be read: one in a minute.

        One write decides. A repeat for the subject that was taken last finds it taken, and moves nothing.
        """
        is_due = both(at_most("at", now - UNREADABLE_EVERY), differs("subject", subject))
        taken = {"at": now, "subject": subject, "expires_at": now // 1000 + _KEEP_UNREADABLE_SECONDS, "v": VERSION}
        try:
            self._tables.update(
                Update(Table.SESSIONS, unreadable_key(place), [either(absent("at"), is_due)], set=taken)
            )
        except ConditionFailed as failed:
            return bool((failed.items[0] or {}).get("subject") == subject)
        return True

    def close(self, rows: Sequence[InboxRow], *, by: str) -> None:
        """Mark rows as answered outside a turn's commit (by a notice or a command). Safe to repeat."""
        for row in rows:
            with contextlib.suppress(ConditionFailed):
                self._tables.update(close_row(row, by))
