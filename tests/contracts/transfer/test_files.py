"""Bytes of files in an export: each arrives whole, from a directory to S3 and back, or nothing is written."""

import base64
import gzip
import hashlib
import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from local.console import Console
from local.transfer.commands import NotMoved, export_to, import_from
from shared.domain.files import StoredFile
from shared.ports.files import Files
from shared.ports.tables import Table, Tables
from shared.sqlite.files import DirectoryFiles
from shared.store.bundle import store_on
from shared.store.files import bytes_key
from tests.contracts.store.world import NOW, USER, World
from tests.contracts.transfer.test_hostile_files import Lines, sealed
from tests.support.memory_files import MemoryFiles
from tests.support.memory_tables import MemoryTables

QUIET = Console(is_json=True)
CONTENTS = [b"", b"short", bytes(range(256)) * 5_000]
LATER = NOW + 10**9


def keep(tables: Tables, files: Files, session_id: str, content: bytes, name: str = "a.log") -> str:
    """A stored file of a session; returns the key of its bytes."""
    store = store_on(tables)
    session = store.sessions.get(session_id)
    assert session is not None
    file = StoredFile(hashlib.sha256(content).hexdigest(), name, "text/plain", len(content))
    item = store.files.expect(session, file, now=NOW)
    files.put(item.key, [content], size=len(content), media_type=file.media_type)
    assert store.files.stored(item, until=LATER)
    return item.key


@contextmanager
def traced() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture
def source() -> tuple[MemoryTables, MemoryFiles]:
    tables, files = MemoryTables(), MemoryFiles()
    world = World(store_on(tables))
    for session in ("one", "two"):
        world.session(session, messages=[USER])
        for content in CONTENTS:
            keep(tables, files, session, content)
    return tables, files


@pytest.fixture
def lines(source: tuple[MemoryTables, MemoryFiles], tmp_path: Path) -> Lines:
    export_to(source[0], tmp_path / "source", QUIET, now=NOW, files=source[1])
    *read, _ = map(json.loads, gzip.decompress((tmp_path / "source").read_bytes()).splitlines())
    return read


def test_bytes_arrive_and_can_go_back(source: tuple[MemoryTables, MemoryFiles], tmp_path: Path) -> None:
    tables, files = source
    there, on_disk = MemoryTables(), DirectoryFiles(tmp_path / "files")
    back, again = MemoryTables(), MemoryFiles()
    on_disk.prepare()

    export_to(tables, tmp_path / "one", QUIET, now=NOW, files=files)
    import_from(there, tmp_path / "one", QUIET, files=on_disk, yes=True)
    export_to(there, tmp_path / "two", QUIET, now=NOW, files=on_disk)
    import_from(back, tmp_path / "two", QUIET, files=again, yes=True)

    assert again.stored == files.stored
    assert len(again.stored) == 6
    for session in ("one", "two"):
        assert store_on(back).files.of(session) == store_on(tables).files.of(session)
    (usage,) = [item for item in back.scan(Table.SESSIONS) if item["sk"] == "USAGE"]
    assert usage["file_bytes"] == 2 * sum(map(len, CONTENTS))


def test_a_repeat_stores_what_is_missing(source: tuple[MemoryTables, MemoryFiles], tmp_path: Path) -> None:
    tables, files = source
    there, target = MemoryTables(), MemoryFiles()
    export_to(tables, tmp_path / "one", QUIET, now=NOW, files=files)
    import_from(there, tmp_path / "one", QUIET, files=target, yes=True)
    target.stored.popitem()

    import_from(there, tmp_path / "one", QUIET, files=target, yes=True)

    assert target.stored == files.stored


def test_files_whose_bytes_are_gone_or_damaged_are_left_out(
    source: tuple[MemoryTables, MemoryFiles], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables, files = source
    gone, damaged, *_ = files.stored
    del files.stored[gone]
    files.stored[damaged] = files.stored[damaged][:-1] + b"!"

    export_to(tables, tmp_path / "one", QUIET, now=NOW, files=files)

    said = json.loads(capsys.readouterr().out)
    assert said["left_out"] == {"files whose bytes are not there": 2}
    target = MemoryFiles()
    import_from(MemoryTables(), tmp_path / "one", QUIET, files=target, yes=True)
    assert set(target.stored) == set(files.stored) - {damaged}


def test_an_export_without_bytes_is_imported(source: tuple[MemoryTables, MemoryFiles], tmp_path: Path) -> None:
    """As one of an earlier version: the messages keep the names."""
    target, files = MemoryTables(), MemoryFiles()
    export_to(source[0], tmp_path / "one", QUIET, now=NOW)
    assert import_from(target, tmp_path / "one", QUIET, files=files, yes=True) == 0
    assert (files.stored, store_on(target).files.of("one")) == ({}, [])


def test_a_large_file_is_never_whole_in_memory(tmp_path: Path) -> None:
    tables, files = MemoryTables(), DirectoryFiles(tmp_path / "files")
    target = DirectoryFiles(tmp_path / "target")
    files.prepare()
    target.prepare()
    World(store_on(tables)).session("one", messages=[USER])
    key = keep(tables, files, "one", bytes(24_000_000))

    with traced() as peak:
        export_to(tables, tmp_path / "one", QUIET, now=NOW, files=files)
        import_from(MemoryTables(), tmp_path / "one", QUIET, files=target, yes=True)
        assert peak() < 12_000_000

    assert target.size(key) == 24_000_000


def at_file(lines: Lines, size: int = len(CONTENTS[2])) -> int:
    """Where the item of a large file is; two pieces or more follow."""
    return next(n for n, line in enumerate(lines) if line.get("item", {}).get("size") == size)


def with_item(**values: Any) -> Callable[[Lines], None]:
    return lambda lines: lines[at_file(lines)]["item"].update(values)


def insert(line: dict[str, Any], *, behind: int = 0) -> Callable[[Lines], None]:
    return lambda lines: lines.insert(at_file(lines) + behind, line)


def change_piece(lines: Lines) -> None:
    piece = lines[at_file(lines) + 1]
    content = base64.b64decode(piece["file"])
    piece["file"] = base64.b64encode(content[:-1] + b"!").decode()


def lose_last_piece(lines: Lines) -> None:
    end = at_file(lines)
    while "file" in lines[end + 1]:
        end += 1
    del lines[end]


def cut_at_the_end(lines: Lines) -> None:
    """The last line of all is a piece of a file that goes on."""
    start = at_file(lines)
    moved = [lines.pop(start), lines.pop(start)]
    while "file" in lines[start]:
        del lines[start]
    lines += moved


def of_another_session(lines: Lines) -> None:
    lines[at_file(lines)]["item"]["pk"] = "SESSION#three"


def of_another_user(lines: Lines) -> None:
    lines[at_file(lines)]["item"]["user"] = "eve"
    lines.insert(1, {"table": "sessions", "item": {"pk": "USERS", "sk": "eve", "v": 1}})


PIECE = {"file": base64.b64encode(b"more").decode()}
HOSTILE: dict[str, Callable[[Lines], object]] = {
    "another byte": change_piece,
    "a lost piece": lose_last_piece,
    "a lost first piece": lambda lines: lines.pop(at_file(lines) + 1),
    "cut at the end": cut_at_the_end,
    "more than announced": insert(PIECE, behind=1),
    "a piece of nothing": lambda lines: lines.insert(1, PIECE),
    "an empty piece": insert({"file": ""}, behind=1),
    "a piece of a megabyte": insert({"file": base64.b64encode(bytes(1_000_000)).decode()}, behind=1),
    "a piece that is no base64": insert({"file": "!"}, behind=1),
    "a piece that is a number": insert({"file": 7}, behind=1),
    "a smaller size": with_item(size=5),
    "a negative size": with_item(size=-1),
    "a size that is a text": with_item(size="5"),
    "a digest of something else": with_item(sk=f"FILE#{'0' * 64}"),
    "a key with a slash": with_item(sk="FILE#../../etc"),
    "a foreign session": of_another_session,
    "a foreign user": of_another_user,
    "a user with a slash": with_item(user="../ada"),
    "a name with a slash": with_item(name="../a"),
    "a file that is leaving": with_item(leaving=True),
    "a file that never came": with_item(stored=False),
    "another shard": with_item(due_shard="x"),
    "one more attribute": with_item(url="https://elsewhere.test/"),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_hostile_bytes_are_refused_before_anything_is_written(lines: Lines, tmp_path: Path, how: str) -> None:
    HOSTILE[how](lines)
    (tmp_path / "export").write_bytes(sealed(lines))
    target, files = MemoryTables(), MemoryFiles()

    with pytest.raises(NotMoved, match=r"Nothing was written\.$"):
        import_from(target, tmp_path / "export", QUIET, files=files, yes=True)

    assert [item for table in Table for item in target.scan(table)] == []
    assert files.stored == {}


def test_the_lines_that_they_are_made_of_are_accepted(lines: Lines, tmp_path: Path) -> None:
    (tmp_path / "export").write_bytes(sealed(lines))
    assert import_from(MemoryTables(), tmp_path / "export", QUIET, files=MemoryFiles(), yes=True) == 0


def test_files_are_refused_where_there_is_no_place_for_them(lines: Lines, tmp_path: Path) -> None:
    (tmp_path / "export").write_bytes(sealed(lines))
    with pytest.raises(NotMoved, match="no place"):
        import_from(MemoryTables(), tmp_path / "export", QUIET, yes=True)


def test_a_user_who_is_there_gets_no_bytes(lines: Lines, tmp_path: Path) -> None:
    target, files = MemoryTables(), MemoryFiles()
    (tmp_path / "export").write_bytes(sealed(lines))
    import_from(target, tmp_path / "export", QUIET, files=files, yes=True)
    before = dict(files.stored)
    content = b"planted"
    file = {**lines[at_file(lines)]["item"], "sk": f"FILE#{hashlib.sha256(content).hexdigest()}", "size": len(content)}
    piece = {"file": base64.b64encode(content).decode()}
    (tmp_path / "hostile").write_bytes(sealed([*lines, {"table": "sessions", "item": file}, piece]))

    with pytest.raises(NotMoved, match="Nothing was written"):
        import_from(target, tmp_path / "hostile", QUIET, files=files, yes=True)

    assert files.stored == before
    assert bytes_key("ada", "one", file["sk"].removeprefix("FILE#")) not in files.stored
