"""What is under way does not move, what is there is not changed, and a file that is not whole is not used."""

import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from local.console import Console
from local.transfer.commands import NotMoved, export_to, import_from
from shared.domain.links import Link
from shared.domain.routes import Place
from shared.domain.runners import Runner
from shared.ports.tables import Item, Put, Table, Tables, Update
from shared.store.bundle import store_on
from shared.store.keys import meta_key
from shared.store.transfer.kinds import MOVED, kind_of
from tests.contracts.store.world import NOW, USER, Ending, Stage, World
from tests.contracts.transfer.conftest import HASH, OTHER_HASH, Make, fill, lasting, move

QUIET = Console(is_json=True)


@pytest.fixture
def source(make: Make) -> Tables:
    return make("memory")


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("handoff", "open handoffs"),
        ("turn", "turns under way"),
        ("reply", "replies that are not delivered"),
        ("news", "replies that are not delivered"),
        ("words", "chat messages that are not answered"),
        ("newer", "items that this version does not know"),
    ],
)
def test_what_is_under_way_is_refused_or_left_out(
    source: Tables, make: Make, tmp_path: Path, what: str, told: str
) -> None:
    world, path = World(store_on(source)), tmp_path / "export"
    match what:
        case "handoff":
            world.handoff(Stage.CLAIMED, world.session(messages=[USER]))
        case "turn":
            world.start_turn(world.session(messages=[USER]))
        case "reply":
            world.committed()
            world.settle()
        case "news":
            world.session(messages=[USER])
            link = Link("l1", "ada", "ada", "chat", "h1", valid_until=NOW + 1, token_hash=HASH)
            world.store.accounts.add_token("ada", HASH)
            assert world.store.links.create(link)
            assert world.store.links.use(link, "77", Place("chat", "77"), "e1", now=NOW, chats=[Place("chat", "88")])
        case "words":
            world.session(messages=[USER])
            world.row()
        case "newer":
            world.session(messages=[USER])
            source.put(Put(Table.SESSIONS, {"pk": "SESSION#s-1", "sk": "NEW#1", "v": 1}))

    with pytest.raises(NotMoved, match=told):
        export_to(source, path, QUIET, now=NOW)
    assert list(tmp_path.iterdir()) == []

    target = make("memory")
    assert export_to(source, path, QUIET, now=NOW, force=True) == 0
    assert import_from(target, path, QUIET, yes=True) == 0
    arrived = World(store_on(target)).current("s-1")
    assert (arrived.turn, arrived.active_handoff) == (None, None)
    assert arrived.message_count > 0
    assert all(kind_of(table, item) in MOVED for table in Table for item in target.scan(table))
    assert list(target.scan(Table.HANDOFFS)) == []


def test_a_file_is_private_and_not_overwritten(source: Tables, tmp_path: Path) -> None:
    fill(source)
    path = tmp_path / "export"
    export_to(source, path, QUIET, now=NOW)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["export"]
    with pytest.raises(NotMoved, match="exists"):
        export_to(source, path, QUIET, now=NOW)


def test_the_header_tells_what_is_in_the_file(source: Tables, tmp_path: Path) -> None:
    fill(source)
    export_to(source, tmp_path / "export", QUIET, now=NOW)
    lines = gzip.decompress((tmp_path / "export").read_bytes()).splitlines()
    header, end = json.loads(lines[0]), json.loads(lines[-1])
    assert (header["format"], header["version"], header["created_at"]) == ("handoff-data", 1, NOW)
    assert (header["counts"]["users"], header["counts"]["sessions"], header["counts"]["messages"]) == (2, 4, 126)
    assert header["counts"]["items"] == end["items"] == len(lines) - 2
    assert b"laptop" in b"".join(lines)


@pytest.mark.parametrize("how", ["cut", "line", "end", "changed", "more", "text", "version", "turn"])
def test_a_file_that_is_not_whole_is_refused_before_anything_is_written(
    source: Tables, make: Make, tmp_path: Path, how: str
) -> None:
    fill(source)
    path = tmp_path / "export"
    export_to(source, path, QUIET, now=NOW)
    raw = path.read_bytes()
    lines = gzip.decompress(raw).splitlines(keepends=True)
    broken = {
        "cut": raw[: len(raw) // 2],
        "line": gzip.compress(b"".join([*lines[:3], *lines[4:]])),
        "end": gzip.compress(b"".join(lines[:-1])),
        "changed": gzip.compress(b"".join(lines).replace(b"laptop", b"attack")),
        "more": raw + gzip.compress(lines[1]),
        "text": b"hello",
        "version": gzip.compress(b"".join([lines[0].replace(b'"version":1', b'"version":2'), *lines[1:]])),
        "turn": gzip.compress(b"".join(lines).replace(b'"sk":"CHUNK#', b'"sk":"OUT#')),
    }
    path.write_bytes(broken[how])
    target = make("memory")
    with pytest.raises(NotMoved, match="Nothing was written"):
        import_from(target, path, QUIET, yes=True)
    assert lasting(target) == []


@pytest.mark.parametrize("kind", ["sqlite", "moto"])
@pytest.mark.parametrize("what", ["session", "longer", "user", "token", "person", "route"])
def test_what_exists_there_and_differs_is_refused(make: Make, tmp_path: Path, kind: str, what: str) -> None:
    source, target = make("memory"), make(kind)
    fill(source)
    path = tmp_path / "export"
    export_to(source, path, QUIET, now=NOW)
    there = World(store_on(target))
    names = {
        "session": "session terminal",
        "longer": "session terminal",
        "user": "user ada",
        "token": "user ada",
        "person": "account telegram 77",
        "route": "route telegram:1001:17",
    }
    match what:
        case "session":
            there.session("terminal", title="another one")
        case "longer":
            import_from(target, path, QUIET, yes=True)
            there.store.transcripts.append(there.current("terminal"), [USER], now=NOW)
        case "user":
            there.store.accounts.set_home("ada", Place("telegram", "2002"))
        case "token":
            there.store.accounts.add_token("ada", "c" * 64)
        case "person":
            there.store.accounts.add_identity("eve", "telegram", "77")
        case "route":
            there.ended(Ending.COMPLETED, there.session("elsewhere", messages=[USER]))
    before = lasting(target)

    with pytest.raises(NotMoved, match=names[what]) as refused:
        import_from(target, path, QUIET, yes=True)

    assert lasting(target) == before
    assert HASH not in str(refused.value)
    assert OTHER_HASH not in str(refused.value)


def test_a_session_that_changes_while_it_is_read_is_read_again(
    source: Tables, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(store_on(source))
    world.session("busy", messages=[USER])
    left = iter(range(2))
    query = source.query

    def meddling(pk: str, **range_: Any) -> Iterator[Item]:
        rows = list(query(pk, **range_))
        if range_.get("low") == "CHUNK#" and next(left, None) is not None:
            world.store.transcripts.append(world.current("busy"), [USER], now=NOW)
        return iter(rows)

    monkeypatch.setattr(source, "query", meddling)
    target = make("memory")
    move(source, target, tmp_path / "export")
    arrived = World(store_on(target))
    assert arrived.current("busy").message_count == 3
    assert len(list(arrived.store.transcripts.load("busy"))) == 3


def test_a_transcript_with_a_hole_is_refused(source: Tables, tmp_path: Path) -> None:
    World(store_on(source)).session("s-1", messages=[USER])
    source.update(Update(Table.SESSIONS, meta_key("s-1"), [], set={"message_count": 2}))
    with pytest.raises(NotMoved, match="s-1 keeps changing"):
        export_to(source, tmp_path / "export", QUIET, now=NOW)


def test_what_has_expired_stays_behind(source: Tables, tmp_path: Path, make: Make) -> None:
    fill(source)
    target, later = make("memory"), NOW + 40 * 86_400_000
    export_to(source, tmp_path / "export", QUIET, now=later)
    import_from(target, tmp_path / "export", QUIET, yes=True)
    assert list(target.scan(Table.HANDOFFS)) == []
    assert World(store_on(target)).current("thread").owner.thread == "17"


def test_what_cannot_be_read_stays_behind(source: Tables, tmp_path: Path, make: Make) -> None:
    world, target = World(store_on(source)), make("memory")
    world.session("odd", messages=[USER])
    world.session("broken", messages=[USER])
    odd = {"resume_pending": {"reason": "killed", "at": "soon"}, "questions": "many", "turn": 7, "title": ["x"]}
    source.update(Update(Table.SESSIONS, meta_key("odd"), [], set=odd))
    source.update(Update(Table.SESSIONS, meta_key("broken"), [], set={"epoch": "first"}))
    with pytest.raises(NotMoved, match="1 items that this version does not know"):
        export_to(source, tmp_path / "export", QUIET, now=NOW)

    export_to(source, tmp_path / "export", QUIET, now=NOW, force=True)
    import_from(target, tmp_path / "export", QUIET, yes=True)

    arrived = World(store_on(target))
    assert [session.id for session in arrived.store.sessions.list("ada", limit=9).sessions] == ["odd"]
    assert arrived.current("odd") == replace(world.current("odd"), unreadable=frozenset())


def test_every_user_of_an_export_is_listed_in_it(source: Tables, tmp_path: Path, make: Make) -> None:
    """One who was added before users were listed, and with a runner."""
    world, target = World(store_on(source)), make("memory")
    world.session("s-1", messages=[USER])
    world.store.runners.register(Runner("laptop", "ada", "laptop", {"codex": "1"}, "0.3", seen_at=NOW))
    move(source, target, tmp_path / "export")
    assert store_on(target).accounts.users() == ["ada"]
    assert store_on(target).runners.list("ada") == world.store.runners.list("ada")


@pytest.mark.parametrize("what", ["directory", "pipe", "nothing"])
def test_what_is_no_file_is_refused(make: Make, tmp_path: Path, what: str) -> None:
    path = tmp_path / "export"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "directory":
        path.mkdir()
    with pytest.raises(NotMoved, match=r"is not a file\. Nothing was written"):
        import_from(make("memory"), path, QUIET, yes=True)
