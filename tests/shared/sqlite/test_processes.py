"""Several processes on one file: conditions decide between them, and one that is killed leaves nothing half done."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shared.ports.tables import Table
from shared.sqlite.database import Database
from shared.sqlite.tables import SqliteTables
from tests.support.sqlite_integrity import damage_in

KEYS = 100
ROUNDS = 10
PRELUDE = """
import sys
from pathlib import Path
from shared.ports.conditions import absent, equals
from shared.ports.tables import ConditionFailed, Put, Table, Update
from shared.sqlite.database import Database
from shared.sqlite.tables import SqliteTables

database = Database(Path(sys.argv[1]))
tables = SqliteTables(database)

def say(text):
    print(text, flush=True)

say("ready")
sys.stdin.readline()
"""
RACE = """
won = 0
for number in range(int(sys.argv[2])):
    try:
        tables.put(Put(Table.HANDOFFS, {"handoff_id": str(number), "by": sys.argv[3]}, [absent("handoff_id")]))
        won += 1
    except ConditionFailed as failed:
        assert failed.items[0]["by"] != sys.argv[3]
say(won)
"""
COUNT = """
def add(number):
    key = {"handoff_id": "counter"}
    while True:
        seen = (tables.get(Table.HANDOFFS, key) or {}).get("n", 0)
        try:
            tables.update(Update(Table.HANDOFFS, key, [equals("n", seen) if seen else absent("n")], set={"n": seen + 1}))
            return
        except ConditionFailed:
            pass

for number in range(int(sys.argv[2])):
    add(number)
say("done")
"""
ENDLESS = """
number = 0
while True:
    number += 1
    tables.transact([
        Update(Table.HANDOFFS, {"handoff_id": "counter"}, [], set={"n": number}),
        Put(Table.SESSIONS, {"pk": "p", "sk": f"{number:06}", "data": bytes(3000)}, [absent("pk")]),
        Update(Table.SESSIONS, {"pk": "counter", "sk": "s"}, [], add={"n": 1}),
    ])
    say(number)
"""
HALFWAY = """
with database.writing() as connection:
    connection.execute("PRAGMA cache_size = 1")  # so that pages are written before the commit
    for number in range(200):
        connection.execute("INSERT INTO sessions (pk, sk, plain) VALUES ('p', ?, ?)", (str(number), '"' + "x" * 5000 + '"'))
    say("halfway")
    sys.stdin.readline()
"""
CREATE = """
for number in range(int(sys.argv[3])):
    with_it = Database(Path(sys.argv[2]) / f"{number}.db")
    with_it.close()
    say("opened")
    sys.stdin.readline()
"""


@contextmanager
def running(program: str, path: Path, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """A process that has the file open and waits for a line."""
    command = [sys.executable, "-c", PRELUDE + program, str(path), *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert read(process) == "ready"
            yield process
        finally:
            process.kill()


def read(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin
    process.stdin.write("go\n")
    process.stdin.flush()


def kill(process: "subprocess.Popen[str]") -> list[str]:
    """SIGKILL; returns the lines that were written before."""
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout
    return process.stdout.read().split()


@pytest.fixture
def reopened(path: Path) -> Iterator[SqliteTables]:
    """The tables, opened when a test has ended its processes."""
    database = Database(path)
    yield SqliteTables(database)
    database.close()


def test_of_two_conditional_writes_one_wins(path: Path, reopened: SqliteTables) -> None:
    with running(RACE, path, KEYS, "a") as one, running(RACE, path, KEYS, "b") as other:
        go(one)
        go(other)
        won = {"a": int(read(one)), "b": int(read(other))}
    writers = [item["by"] for item in reopened.scan(Table.HANDOFFS)]
    assert len(writers) == KEYS
    assert {name: writers.count(name) for name in "ab"} == won


def test_optimistic_counts_of_two_processes_add_up(path: Path, reopened: SqliteTables) -> None:
    with running(COUNT, path, KEYS) as one, running(COUNT, path, KEYS) as other:
        go(one)
        go(other)
        assert [read(one), read(other)] == ["done", "done"]
    assert reopened.get(Table.HANDOFFS, {"handoff_id": "counter"}) == {"handoff_id": "counter", "n": 2 * KEYS}


@pytest.mark.parametrize("commits", [1, 7, 40, 150])
def test_a_killed_process_loses_no_commit(path: Path, commits: int) -> None:
    with running(ENDLESS, path) as process:
        go(process)
        reported = [read(process) for _ in range(commits)]
        reported += kill(process)

    database = Database(path)
    tables = SqliteTables(database)
    rows = [item["sk"] for item in tables.query("p", low="0")]
    assert len(rows) - int(reported[-1]) in (0, 1), "the last commit may not have been reported"
    assert rows == [f"{number:06}" for number in range(1, len(rows) + 1)]
    assert tables.get_many(Table.SESSIONS, [{"pk": "counter", "sk": "s"}])[0]["n"] == len(rows)
    assert tables.get_many(Table.HANDOFFS, [{"handoff_id": "counter"}])[0]["n"] == len(rows)
    assert damage_in(database) == []
    database.close()


def test_a_process_killed_inside_a_transaction_leaves_nothing(path: Path, reopened: SqliteTables) -> None:
    with running(HALFWAY, path) as process:
        go(process)
        assert read(process) == "halfway"
        assert path.with_name("handoff.db-wal").stat().st_size > 500_000
        kill(process)
    assert list(reopened.scan(Table.SESSIONS)) == []
    assert damage_in(reopened._database) == []


def test_two_processes_create_the_same_files(path: Path, tmp_path: Path) -> None:
    with running(CREATE, path, tmp_path, ROUNDS) as one, running(CREATE, path, tmp_path, ROUNDS) as other:
        for _ in range(ROUNDS):
            go(one)
            go(other)
            assert [read(one), read(other)] == ["opened", "opened"]
