"""A copy of a session has bytes of its own: counted, kept no longer than those of the original, whole after every death."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import pytest

from shared.domain.limits import Limits
from shared.domain.sessions import Session
from shared.errors import Conflict, CopyUnfinished, FilesFull
from shared.services import Services
from shared.sqlite.files import DirectoryFiles, copy_files
from shared.store.bundle import store_on
from shared.use_cases.files.keep_file import DAY
from shared.use_cases.people.remove_user import remove_user
from shared.use_cases.sessions.resume_session import COPY_TIME, fork_session
from shared.use_cases.sessions.save_session import delete_session
from tests.shared.use_cases.files.test_expiry import Died, counted, file_of, keep
from tests.support.memory_files import MemoryFiles
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import USER, World

CONTENTS = [b"one", b"three", b"fifteen"]
SIZE = sum(map(len, CONTENTS))
ROOM = 2 * SIZE + 4


@dataclass
class SlowFiles(MemoryFiles):
    """Each copy takes a while. `dies_at` counts the copies until the process dies, before it (even) or after it (odd)."""

    world: World | None = None
    seconds: float = 0.0
    dies_at: int | None = None
    copies: int = 0

    def copy(self, source: str, target: str) -> None:
        self._die(2 * self.copies)
        super().copy(source, target)
        self.copies += 1
        self._die(2 * self.copies - 1)
        if self.world:
            self.world.wait(self.seconds)

    def _die(self, moment: int) -> None:
        if moment == self.dies_at:
            raise Died


@pytest.fixture
def tables() -> MemoryTables:
    return MemoryTables()


@pytest.fixture
def world(tables: MemoryTables) -> World:
    world = World(store_on(tables, Limits(files_bytes=ROOM)))
    session = world.session()
    for content in CONTENTS:
        keep(world, session, content)
    return world


def with_files(world: World, files: SlowFiles) -> Services:
    files.stored = world.files.stored
    return replace(world.services, files=files)


def bytes_of(world: World, session: Session) -> list[bytes]:
    """Those of the stored files of a session, in the order of their digests."""
    items = world.store.files.of(session.id)
    assert all(item.is_stored for item in items)
    return [b"".join(world.files.get(item.key)) for item in items]


def test_a_copy_outlives_its_original(world: World, tables: MemoryTables) -> None:
    copy = fork_session(world.services, USER, "s-1")
    assert counted(tables) == 2 * SIZE

    delete_session(world.services, USER, "s-1")

    assert sorted(bytes_of(world, copy)) == sorted(CONTENTS)
    assert counted(tables) == SIZE
    delete_session(world.services, USER, copy.id)
    assert (counted(tables), world.files.stored) == (0, {})


def test_a_copy_keeps_files_no_longer(world: World, tables: MemoryTables) -> None:
    world.wait(20 * DAY / 1000)
    fork_session(world.services, USER, "s-1")
    world.wait(10 * DAY / 1000)
    world.sweep()
    assert (counted(tables), world.files.stored) == (0, {})


def test_a_copy_without_room_is_refused_and_leaves_nothing(world: World, tables: MemoryTables) -> None:
    keep(world, world.current(), b"more")
    before = dict(world.files.stored)
    with pytest.raises(FilesFull, match="would need more than"):
        fork_session(world.services, USER, "s-1", idempotency_key="k")
    assert (counted(tables), world.files.stored) == (SIZE + 4, before)
    assert [session.id for session in world.store.sessions.list(USER, limit=9, cursor=None).sessions] == ["s-1"]


@pytest.mark.parametrize("dies_at", range(2 * len(CONTENTS)))
def test_a_copy_that_died_is_continued(world: World, tables: MemoryTables, dies_at: int) -> None:
    files = SlowFiles(dies_at=dies_at)
    services = with_files(world, files)
    with pytest.raises(Died):
        fork_session(services, USER, "s-1", idempotency_key="k")
    assert counted(tables) >= sum(map(len, files.stored.values()))
    files.dies_at = None

    copy = fork_session(services, USER, "s-1", idempotency_key="k")

    assert sorted(bytes_of(world, copy)) == sorted(CONTENTS)
    assert counted(tables) == 2 * SIZE
    assert world.transcript(copy.id) == world.transcript("s-1")
    assert files.copies <= len(CONTENTS) + 1


def test_one_request_copies_for_a_while_and_the_next_goes_on(world: World) -> None:
    services = with_files(world, files := SlowFiles(world=world, seconds=COPY_TIME / 1000 + 1))
    for left in (2, 1):
        with pytest.raises(CopyUnfinished, match=f"^{left} files"):
            fork_session(services, USER, "s-1", idempotency_key="k")
    copy = fork_session(services, USER, "s-1", idempotency_key="k")
    assert (sorted(bytes_of(world, copy)), files.copies) == (sorted(CONTENTS), len(CONTENTS))


def test_a_repeated_request_asks_only_for_what_is_left(world: World) -> None:
    """Else many files that are copied take the time of those that are not."""
    services = with_files(world, SlowFiles(world=world, seconds=COPY_TIME / 1000 + 1))
    with pytest.raises(CopyUnfinished, match=r"^2 files"):
        fork_session(services, USER, "s-1", idempotency_key="k")
    with mock.patch.object(world.store.files, "expect", wraps=world.store.files.expect) as expect:
        with pytest.raises(CopyUnfinished, match=r"^1 files"):
            fork_session(services, USER, "s-1", idempotency_key="k")
        assert expect.call_count == 1


@pytest.mark.parametrize("gone", ["the copy", "the user"])
def test_a_copy_that_is_deleted_while_a_file_is_copied_leaves_nothing(
    world: World, tables: MemoryTables, gone: str
) -> None:
    @dataclass
    class DeletedMeanwhile(MemoryFiles):
        def copy(self, source: str, target: str) -> None:
            content = self.stored[source]
            if gone == "the user":
                remove_user(world.store, world.files, USER)
            else:
                delete_session(world.services, USER, target.split("/")[1])
            self.stored[target] = content

    services = replace(world.services, files=DeletedMeanwhile(world.files.stored))
    with pytest.raises(Conflict):
        fork_session(services, USER, "s-1", idempotency_key="k")
    assert counted(tables) == sum(map(len, world.files.stored.values())) == (SIZE if gone == "the copy" else 0)


def test_without_a_key_nothing_is_left_of_an_unfinished_copy(world: World, tables: MemoryTables) -> None:
    services = with_files(world, SlowFiles(world=world, seconds=COPY_TIME / 1000 + 1))
    with pytest.raises(CopyUnfinished):
        fork_session(services, USER, "s-1")
    assert counted(tables) == sum(map(len, world.files.stored.values())) == SIZE


def test_what_is_gone_or_never_came_is_not_copied(world: World, tables: MemoryTables) -> None:
    gone, *_ = world.store.files.of("s-1")
    world.files.delete(gone.key)
    world.store.files.expect(world.current(), file_of(b"late"), now=world.clock.now())

    copy = fork_session(world.services, USER, "s-1")

    copied = [item for item in world.store.files.of(copy.id) if item.is_stored]
    assert len(copied) == len(CONTENTS) - 1
    world.wait(DAY / 1000)
    world.sweep()
    assert len(world.store.files.of(copy.id)) == len(CONTENTS) - 1
    assert counted(tables) == 2 * SIZE - gone.file.size


def test_what_a_dead_process_left_keeps_no_copy_from_being_made(tmp_path: Path) -> None:
    """In a container each process has the number of the one before."""
    files = DirectoryFiles(tmp_path / "files")
    files.prepare()
    files.put(f"{USER}/s-1/{file_of(b'one').id}", [b"one"], size=3, media_type="text/plain")
    (found,) = (tmp_path / "files").glob("*/*/*")
    (tmp_path / "backup").mkdir()
    copied = tmp_path / "backup" / found.relative_to(tmp_path / "files")
    copied.parent.mkdir(parents=True)
    copied.with_name(f".{copied.name}.{os.getpid()}").hardlink_to(found)
    assert copy_files(tmp_path / "files", tmp_path / "backup") == 3
    assert [file.name for file in (tmp_path / "backup").glob("*/*/*")] == [found.name]


def test_a_copy_in_a_directory_is_a_file_of_its_own(tmp_path: Path, world: World) -> None:
    files = DirectoryFiles(tmp_path / "files")
    files.prepare()
    for key, content in world.files.stored.items():
        files.put(key, [content], size=len(content), media_type="text/plain")
    copy = fork_session(replace(world.services, files=files), USER, "s-1")
    files.delete(f"{USER}/s-1/")
    assert sorted(b"".join(files.get(item.key)) for item in world.store.files.of(copy.id)) == sorted(CONTENTS)
