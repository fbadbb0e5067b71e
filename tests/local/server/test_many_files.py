"""A gigabyte of files on one machine: memory stays bounded, the disk is given back, and the count is right after kills."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.chats.simulator import Simulator
from shared.ports.conditions import present
from shared.ports.tables import Table, Update
from shared.sqlite.database import Database
from shared.sqlite.tables import SqliteTables
from shared.store.bundle import store_on
from shared.store.keys import file_key, usage_key
from shared.use_cases.files.keep_file import DAY
from tests.support.api_user import ApiUser
from tests.support.server_process import ServerProcess
from tests.support.waiting import eventually

COUNT, SIZE = 200, 5_000_000
DELETED = 20
KEPT_DAYS = 31
MOST_MEMORY_KB = 200_000


@pytest.fixture
def program(data: Path, platforms: Simulator) -> Iterator[ServerProcess]:
    server = ServerProcess(data, platforms)
    server.start()
    yield server
    server.kill()


def on_disk(data: Path) -> int:
    """All bytes below the directory, those of unfinished files, too."""
    total = 0
    for file in (data / "files").rglob("*"):
        with suppress(FileNotFoundError):
            total += file.stat().st_size if file.is_file() else 0
    return total


@contextmanager
def tables_of(data: Path) -> Iterator[SqliteTables]:
    """The database, while no service runs."""
    database = Database(data / "handoff.db")
    try:
        yield SqliteTables(database)
    finally:
        database.close()


def counted(data: Path) -> int:
    """What the user's files take, as the database has it."""
    with tables_of(data) as tables:
        item = tables.get(Table.SESSIONS, usage_key("owner"))
    return int(item["file_bytes"]) if item else 0


def let_time_pass(data: Path, session_id: str) -> None:
    """As many days as files are kept: the times of the session's files are so much earlier."""
    with tables_of(data) as tables:
        for item in store_on(tables).files.of(session_id):
            earlier = {"due_at": item.due_at - KEPT_DAYS * DAY}
            tables.update(Update(Table.SESSIONS, file_key(session_id, item.file.id), [present("stored")], set=earlier))


def content(number: int) -> bytes:
    return number.to_bytes(4) * (SIZE // 4)


def announce(user: ApiUser, session_id: str, whole: bytes) -> Any:
    """How to upload this content; None if it is there."""
    asked = {"sha256": hashlib.sha256(whole).hexdigest(), "size": SIZE, "name": "data.bin"}
    return user.http.post(f"/sessions/{session_id}/files", json=asked).raise_for_status().json()["upload"]


def send(program: ServerProcess, session_id: str, numbers: Iterable[int]) -> None:
    """Each is announced once more at the end: then the service has looked whether its bytes are there."""
    user = program.user()
    with user.http, httpx.Client() as storage:
        for whole in map(content, numbers):
            upload = announce(user, session_id, whole)
            storage.put(upload["url"], content=whole, headers=upload["headers"]).raise_for_status()
            assert announce(user, session_id, whole) is None


def die_in_an_upload(program: ServerProcess, session_id: str, whole: bytes) -> None:
    user = program.user()
    with user.http:
        upload = announce(user, session_id, whole)

    def half() -> Iterator[bytes]:
        yield whole[: SIZE // 2]
        eventually(lambda: on_disk(program.data) % SIZE)
        program.kill()
        yield whole[SIZE // 2 :]

    with pytest.raises(httpx.TransportError):
        httpx.put(upload["url"], content=half(), headers=upload["headers"])


def memory(program: ServerProcess) -> int:
    assert program.process is not None
    status = Path(f"/proc/{program.process.pid}/status").read_text()
    (most,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(most)


def test_a_gigabyte_comes_and_goes(program: ServerProcess, data: Path) -> None:
    deleted, kept = (program.user().create_session(1, title) for title in ("deleted", "kept"))
    send(program, deleted, range(DELETED))
    die_in_an_upload(program, kept, content(0))
    assert counted(data) == (DELETED + 1) * SIZE > on_disk(data)  # one is announced
    program.start()
    assert on_disk(data) == DELETED * SIZE

    send(program, kept, range(COUNT - DELETED))
    assert on_disk(data) == COUNT * SIZE
    assert memory(program) < MOST_MEMORY_KB
    program.user().http.delete(f"/sessions/{deleted}").raise_for_status()
    program.kill()
    assert counted(data) == on_disk(data) == (COUNT - DELETED) * SIZE

    let_time_pass(data, kept)
    program.start()
    eventually(lambda: on_disk(data) < (COUNT - DELETED) * SIZE)
    program.kill()  # in the middle of the first sweep, unless that was faster
    assert counted(data) >= on_disk(data)
    let_time_pass(data, kept)  # the file that was being removed is looked at again after some minutes
    program.start()
    eventually(lambda: on_disk(data) == 0)
    assert memory(program) < MOST_MEMORY_KB
    program.stop()
    assert counted(data) == 0
    assert not re.search("/uploads/[^…]", program.output.read_text())  # the whole address is the right to store
