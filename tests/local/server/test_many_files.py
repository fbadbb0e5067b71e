"""A gigabyte of files on one machine: memory stays bounded, the disk is given back, and the count is right after kills."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from local.chats.simulator import Simulator
from shared.ports.tables import Table
from shared.sqlite.database import Database
from shared.sqlite.tables import SqliteTables
from shared.store.keys import usage_key
from tests.support.server_process import ServerProcess

COUNT, SIZE = 200, 5_000_000
KILLED_AFTER = 40
MOST_MEMORY_KB = 200_000


@pytest.fixture
def program(data: Path, platforms: Simulator) -> Iterator[ServerProcess]:
    server = ServerProcess(data, platforms)
    server.start()
    yield server
    server.kill()


def on_disk(data: Path) -> int:
    return sum(file.stat().st_size for file in (data / "files").glob("*/*/*"))


def counted(data: Path) -> int:
    """What the user's files take, as the database has it. Call it while no service runs."""
    database = Database(data / "handoff.db")
    try:
        item = SqliteTables(database).get(Table.SESSIONS, usage_key("owner"))
    finally:
        database.close()
    return int(item["file_bytes"]) if item else 0


def content(number: int) -> bytes:
    return number.to_bytes(4) * (SIZE // 4)


def send(program: ServerProcess, session_id: str, number: int) -> None:
    user, whole = program.user(), content(number)
    asked = {"sha256": hashlib.sha256(whole).hexdigest(), "size": SIZE, "name": f"{number}.bin"}
    upload = user.http.post(f"/sessions/{session_id}/files", json=asked).raise_for_status().json()["upload"]
    if upload:
        httpx.put(upload["url"], content=whole, headers=upload["headers"]).raise_for_status()
    user.http.close()


def memory(program: ServerProcess) -> int:
    assert program.process is not None
    status = Path(f"/proc/{program.process.pid}/status").read_text()
    (most,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(most)


def test_a_gigabyte_comes_and_goes(program: ServerProcess, data: Path) -> None:
    session_id = program.user().create_session(1, "many files")
    for number in range(KILLED_AFTER):
        send(program, session_id, number)
    program.kill()
    assert counted(data) == on_disk(data) == KILLED_AFTER * SIZE
    program.start()

    for number in range(COUNT):  # the first ones are there
        send(program, session_id, number)
    assert on_disk(data) == COUNT * SIZE
    assert memory(program) < MOST_MEMORY_KB

    program.user().http.delete(f"/sessions/{session_id}").raise_for_status()
    assert on_disk(data) == 0
    program.kill()
    assert counted(data) == 0
