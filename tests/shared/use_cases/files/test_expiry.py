"""Files are removed when their time is over, once and with what they count, whatever dies in between."""

import contextlib
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from shared.domain.files import StoredFile
from shared.domain.limits import Limits
from shared.domain.sessions import Session
from shared.errors import Conflict, FilesFull
from shared.ports.tables import Table
from shared.sqlite.files import DirectoryFiles
from shared.store.bundle import store_on
from shared.store.files import UPLOAD_TIME
from shared.store.keys import usage_key
from shared.use_cases.files.keep_file import DAY, announced, keep_file
from shared.use_cases.recovery.sweep import sweep
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import USER, World

ROOM = 100


@pytest.fixture
def tables() -> MemoryTables:
    return MemoryTables()


@pytest.fixture
def world(tables: MemoryTables) -> World:
    return World(store_on(tables, Limits(files_bytes=ROOM)))


def counted(tables: MemoryTables) -> int:
    item = tables.get(Table.SESSIONS, usage_key(USER))
    return int(item["file_bytes"]) if item else 0


def file_of(content: bytes) -> StoredFile:
    return StoredFile(hashlib.sha256(content).hexdigest(), "a.txt", "text/plain", len(content))


def keep(world: World, session: Session, content: bytes) -> None:
    keep_file(world.services, session, file_of(content), [content])


def test_a_file_counts_once(world: World, tables: MemoryTables) -> None:
    session = world.session()
    for _ in range(2):
        keep(world, session, b"12345")
    assert counted(tables) == 5


def test_no_more_is_taken_than_there_is_room(world: World, tables: MemoryTables) -> None:
    session = world.session()
    keep(world, session, b"x" * 60)
    with pytest.raises(FilesFull):
        keep(world, session, b"y" * 41)
    keep(world, session, b"y" * 40)
    assert counted(tables) == ROOM


def test_a_file_is_removed_when_its_time_is_over(world: World, tables: MemoryTables) -> None:
    session = world.session()
    keep(world, session, b"12345")
    world.wait(30 * DAY / 1000 - 1)
    sweep(world.services)
    assert (counted(tables), len(world.files.stored)) == (5, 1)
    world.wait(1)
    sweep(world.services)
    assert (counted(tables), world.files.stored, world.store.files.of(session.id)) == (0, {}, [])


class Died(BaseException):
    """The process of a sweep is dead."""


class DyingFiles(DirectoryFiles):
    """A directory whose process dies before or after each third deletion."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._calls = 0

    def delete(self, prefix: str) -> None:
        self._calls += 1
        if self._calls % 6 == 0:
            raise Died
        super().delete(prefix)
        if self._calls % 6 == 3:
            raise Died


def test_the_disk_is_given_back_when_the_time_of_files_is_over(tmp_path: Path) -> None:
    """Two hundred files of an hour, and sweeps that die."""
    tables, count, size = MemoryTables(), 200, 10_000
    world = World(store_on(tables))
    files = DyingFiles(tmp_path / "files")
    files.prepare()
    services = replace(world.services, files=files)
    session = world.session()
    for number in range(count):
        content = number.to_bytes(2) * (size // 2)
        keep_file(services, session, file_of(content), [content])
        world.wait(3600 / count)
    assert counted(tables) == on_disk(tmp_path) == count * size

    world.wait(30 * DAY / 1000 - 3600)
    seen = [on_disk(tmp_path)]
    for _ in range(4 * count):
        with contextlib.suppress(Died):
            sweep(services)
        world.wait(60)
        seen.append(on_disk(tmp_path))
        assert counted(tables) >= seen[-1]
        if not store_on(tables).files.of(session.id):
            break

    assert (counted(tables), seen[-1]) == (0, 0)
    assert len(set(seen)) > 10


def on_disk(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def test_an_upload_that_never_came_is_forgotten(world: World, tables: MemoryTables) -> None:
    announced(world.services, world.session(), file_of(b"12345"))
    assert counted(tables) == 5
    world.wait(UPLOAD_TIME / 1000)
    sweep(world.services)
    assert counted(tables) == 0


def test_an_upload_that_nobody_confirmed_is_kept(world: World, tables: MemoryTables) -> None:
    upload = announced(world.services, world.session(), file_of(b"12345"))
    assert upload is not None
    world.files.take(upload.url, b"12345")
    world.wait(UPLOAD_TIME / 1000)
    sweep(world.services)
    assert (counted(tables), len(world.files.stored)) == (5, 1)


def test_a_file_that_is_leaving_is_not_stored_anew(world: World, tables: MemoryTables) -> None:
    session = world.session()
    keep(world, session, b"12345")
    (item,) = world.store.files.of(session.id)
    assert world.store.files.leave(item, again_at=world.clock.now() + 1000)  # and its sweep dies here
    with pytest.raises(Conflict):
        announced(world.services, session, file_of(b"12345"))
    world.wait(1)
    sweep(world.services)
    assert (counted(tables), world.files.stored) == (0, {})
    assert announced(world.services, session, file_of(b"12345")) is not None


def test_two_sweeps_count_a_removal_once(world: World, tables: MemoryTables) -> None:
    session = world.session()
    keep(world, session, b"12345")
    keep(world, session, b"123")
    (item,) = [one for one in world.store.files.of(session.id) if one.file.size == 5]
    assert world.store.files.leave(item, again_at=0)
    assert not world.store.files.leave(item, again_at=0) or item.due_at == 0
    for _ in range(2):
        world.store.files.remove(item)
    assert counted(tables) == 3
