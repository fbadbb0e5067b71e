"""Every stored item with values that this version does not know, and without what is optional."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from functions.views import HandoffView, SessionView
from shared.domain.handoffs import State
from shared.domain.routes import place_of
from shared.domain.sessions import Interruption
from shared.ports.platforms import Button, Part
from shared.ports.tables import Item, Put, Table
from shared.store.bundle import Store, store_on
from shared.store.keys import DIRECTORY, out_key
from tests.support.memory_tables import MemoryTables
from tests.upgrades.every_state import drive, filled

UNKNOWN = "word-of-a-newer-version"
ELSEWHERE = "newplatform:room:17"
KEYS = {"pk", "sk", "handoff_id"}
REQUIRED = {
    "handoff": {
        *("session_id", "user_id", "platform", "target", "origin", "request_epoch", "body_hash", "state"),
        *("deadline", "created_at", "updated_at"),
    },
    "META": {
        *("session_id", "user_id", "owner", "epoch", "version", "message_count", "created_at"),
    },
    "CHUNK": {"count", "data"},
    "OUT": {"route"},
    "ROUTE": {"session_id"},
    "HOME": {"route"},
    "PERSON": {"user"},
}
"""Attributes that every item of a kind has. All else may be missing."""
OPAQUE = {"user_id", "session_id", "user"}
"""Ids: another value belongs to another item."""
ROUTES = {"owner", "target", "origin", "route"}


def kind_of(item: Item) -> str:
    if "handoff_id" in item:
        return "handoff"
    return "INBOX" if item["pk"].startswith("INBOX#") else str(item["sk"]).split("#")[0]


def variants(item: Item) -> Iterator[tuple[str, Item]]:
    """The item with one change at a time, and the name of that change."""
    required = REQUIRED.get(kind_of(item), set()) | KEYS
    for path, value in _values(item):
        *_, name = path
        if path[0] not in required or len(path) > 1:
            yield f"without {'.'.join(path)}", _changed(item, path, None)
        if isinstance(value, str) and name not in OPAQUE | KEYS:
            yield f"another {'.'.join(path)}", _changed(item, path, ELSEWHERE if name in ROUTES else UNKNOWN)
        if isinstance(value, dict):
            yield f"{name} of another type", _changed(item, path, UNKNOWN)
    yield "new attributes", {**item, "new_map": {"a": [1]}, "new_number": 5, "new_text": UNKNOWN}
    yield "a newer version", {**item, "v": 99}


def _values(item: Item) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in item.items():
        yield (name,), value
        if isinstance(value, dict):
            yield from (((name, inner), each) for inner, each in value.items())


def _changed(item: Item, path: tuple[str, ...], value: Any) -> Item:
    changed = copy.deepcopy(item)
    parent = changed if len(path) == 1 else changed[path[0]]
    if value is None:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return changed


def read(store: Store, item: Item) -> None:
    """Read an item through every port that shows it. Only a transcript may be refused, by its version."""
    match kind_of(item):
        case "handoff":
            _read_handoff(store, item)
        case "META":
            session = store.sessions.get(item["session_id"])
            assert session is not None
            assert SessionView.of(session, now=0).id == session.id
        case "CHUNK" if item.get("v", 0) < 99:
            assert len(list(store.transcripts.load(item["pk"].removeprefix("SESSION#")))) >= item["count"]
        case "OUT":
            session_id, turn_id = item["pk"].removeprefix("SESSION#"), item["sk"].split("#")[1]
            states = [part.state for part in store.outbox.journal(session_id, turn_id)]
            assert set(states) <= {"waiting", "sending", "sent", "rejected", "unknown"}
        case "INBOX":
            place = place_of(item["pk"].removeprefix("INBOX#"))
            row = store.inbox.get(place, item["sk"])
            assert (row is None) == ("status" not in item)
            assert row is None or not row.is_newer or row not in store.inbox.new(place, limit=100)
        case "ROUTE" if item["pk"].startswith("ROUTE#"):
            assert store.sessions.at(place_of(item["pk"].removeprefix("ROUTE#"))) == item["session_id"]
        case "HOME" | "IDENTITY" | "TOKEN":
            user = item["pk"].removeprefix("USER#")
            assert store.accounts.homes(user)
            assert store.accounts.identities(user, "chat")
            assert store.accounts.tokens(user)
        case _ if item["pk"] == DIRECTORY:
            assert "ada" in store.accounts.users()
            assert store.accounts.tokens("ada")
        case "PERSON":
            assert store.accounts.user_of("chat", item["pk"].split("#")[2]) == item["user"]


def _read_handoff(store: Store, item: Item) -> None:
    handoff = store.handoffs.get(item["handoff_id"])
    assert handoff is not None
    assert handoff.state in State
    assert HandoffView.of(handoff, None, base_url="", now=0).done is not handoff.is_open
    assert handoff in store.handoffs.list(item["user_id"], session_id=item["session_id"], state=None, limit=100)
    store.handoffs.due(now=10**14, limit=1000)


def one_of_each(tables: MemoryTables) -> Iterator[tuple[Table, Item]]:
    """Every item whose kind and attributes are not the same as those of an earlier one."""
    seen = set()
    for table in Table:
        for item in tables.scan(table):
            shape = (kind_of(item), tuple(sorted(".".join(path) for path, _ in _values(item))), item.get("state"))
            if shape not in seen:
                seen.add(shape)
                yield table, item


def try_all(tables: MemoryTables, read: Callable[[Store, Item], None]) -> set[tuple[str, str]]:
    """Read each item with each change, and the lists of all; returns the kinds and the changes."""
    store, tried = store_on(tables), set()
    for table, item in one_of_each(tables):
        for change, variant in variants(item):
            tables.put(Put(table, variant))
            tried.add((kind_of(item), change))
            try:
                read(store, variant)
                assert store.sessions.list("ada", limit=100).sessions
                assert store.handoffs.list("ada", session_id=None, state=None, limit=1000)
            except Exception as error:
                raise AssertionError(f"{kind_of(item)} {change}: {error!r}") from error
        tables.put(Put(table, item))
    return tried


def test_the_filled_tables_hold_items_in_every_state() -> None:
    tables = MemoryTables()
    filled(tables)
    handoffs, items = list(tables.scan(Table.HANDOFFS)), list(tables.scan(Table.SESSIONS))
    assert {item["state"] for item in handoffs} == set(State)
    assert {bool(item.get("confirmed")) for item in handoffs if item["state"] == "running"} == {True, False}
    assert {item["state"] for item in items if kind_of(item) == "OUT"} == {"waiting", "sending", "sent", "rejected"}
    assert {item["status"] for item in items if kind_of(item) == "INBOX"} == {"new", "done"}


@pytest.mark.parametrize("is_done", [False, True], ids=["open", "done"])
def test_every_item_is_read_with_unknown_or_missing_values(is_done: bool) -> None:
    tables = MemoryTables()
    world = filled(tables)
    if is_done:
        drive(world)

    tried = try_all(tables, read)

    assert ("META", "another resume_pending.reason") in tried
    assert {("handoff", "another state"), ("OUT", "another state"), ("INBOX", "another status")} <= tried


@pytest.mark.parametrize(
    ("stored", "read_as"),
    [
        (None, ()),
        ([{"id": "a", "label": "A", "style": UNKNOWN, "new": 1}], (Button("a", "A"),)),
        ([{"id": "a", "label": "A"}, {"menu": []}], ()),
        (UNKNOWN, ()),
        ([UNKNOWN], ()),
        ({"a": 1}, ()),
        (7, ()),
        ([{"id": "a", "label": 5}], ()),
    ],
)
def test_buttons_of_another_version_are_read(stored: Any, read_as: tuple[Button, ...]) -> None:
    tables = MemoryTables()
    item = {**out_key("s-1", "n-1", 0), "route": "chat:home", "text": "May I?", "state": "waiting", "v": 1}
    tables.put(Put(Table.SESSIONS, item | ({} if stored is None else {"buttons": stored})))

    (part,) = store_on(tables).outbox.journal("s-1", "n-1")

    assert (part.state, part.part) == ("waiting", Part("May I?", buttons=read_as))


@pytest.mark.parametrize("name", sorted(REQUIRED["META"] - {"user_id", "created_at"}))
def test_a_broken_session_hides_no_other(name: str) -> None:
    tables = MemoryTables()
    sessions = filled(tables).store.sessions
    ids = {session.id for session in sessions.list("ada", limit=100).sessions}
    (broken,) = [item for item in tables.scan(Table.SESSIONS) if item["pk"] == "SESSION#idle" and item["sk"] == "META"]
    tables.put(Put(Table.SESSIONS, _changed(broken, (name,), None)))
    assert {session.id for session in sessions.list("ada", limit=100).sessions} == ids - {"idle"}


def test_an_unknown_reason_survives_a_change_of_the_title() -> None:
    tables = MemoryTables()
    world = filled(tables)
    key = {"pk": "SESSION#chat-killed", "sk": "META"}
    stored = tables.get(Table.SESSIONS, key)
    assert stored is not None
    mark = {"reason": UNKNOWN, "at": stored["resume_pending"]["at"], "more": 1}
    tables.put(Put(Table.SESSIONS, {**stored, "resume_pending": mark, "new_text": UNKNOWN}))

    session = world.current("chat-killed")
    assert session.resume_pending is not None
    assert session.resume_pending.reason is Interruption.UNKNOWN
    world.store.sessions.replace(session, replace(session, title="T"))

    after = tables.get(Table.SESSIONS, key)
    assert after is not None
    assert (after["title"], after["resume_pending"], after["new_text"]) == ("T", mark, UNKNOWN)


def test_an_unknown_reason_is_told_to_the_agent() -> None:
    tables = MemoryTables()
    world = filled(tables)
    stored = tables.get(Table.SESSIONS, {"pk": "SESSION#chat-killed", "sk": "META"})
    assert stored is not None
    tables.put(Put(Table.SESSIONS, {**stored, "resume_pending": {**stored["resume_pending"], "reason": UNKNOWN}}))
    world.say(world.current("chat-killed").owner, "Go on", "0100")
    drive(world)
    assert any(note and "the cause is not known" in note for note in world.agent.notes)
