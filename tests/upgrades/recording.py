"""Recordings of what a release has stored and queued: made once, never changed.

python -m tests.upgrades.recording NAME     writes recordings/NAME-chats.json and NAME-machine.json with this code
"""

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shared.domain.routes import place_of
from shared.ports.queue import Notice
from shared.ports.queue_text import body_of, message_of, run_body_of, run_of
from shared.ports.tables import Put, Table
from shared.store.bundle import store_on
from tests.support.fake_platform import Thread
from tests.support.fake_queue import Waiting
from tests.support.machine import Machine, post, press
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import World
from tests.upgrades.every_state import filled

FOLDER = Path(__file__).parent / "recordings"
RELEASE_1 = "release-1"
Json = dict[str, Any]


def record(world: World, tables: MemoryTables) -> Json:
    """All items, queue messages and runs, the threads that exist, and the time."""
    return {
        "time": world.clock.now(),
        "ids": world.made,
        "items": {table.name: list(tables.scan(table)) for table in Table},
        "queue": [{"body": body_of(one.message), "line": one.line} for one in world.queue.waiting],
        "runs": [{"body": run_body_of(run), "due": due} for run, due in world.runs.waiting],
        "threads": {place.route: [thread.title, thread.key] for place, thread in world.platform.threads.items()},
    }


def played(name: str) -> tuple[World, MemoryTables]:
    """The world of a recording, for this code to go on with."""
    recorded: Json = json.loads((FOLDER / f"{name}.json").read_text(), object_hook=_decoded)
    tables = MemoryTables()
    for table, items in recorded["items"].items():
        for item in items:
            tables.put(Put(Table[table], item))
    world = World(store_on(tables))
    world.clock.time, world.made = recorded["time"], recorded["ids"]
    world.queue.waiting = [Waiting(message_of(one["body"]), one["line"]) for one in recorded["queue"]]
    world.runs.waiting = [(run_of(one["body"]), one["due"]) for one in recorded["runs"]]
    world.platform.threads = {place_of(route): Thread(*made) for route, made in recorded["threads"].items()}
    return world, tables


def at_work(tables: MemoryTables) -> World:
    """A machine at work: progress, a permission that is open and one that was given, words that came later."""
    world = World(store_on(tables))
    machine = Machine(world)
    place = machine.moved()
    post(world, place, "0001", "And?")
    machine.start()
    machine.report(said="I look.", tool="make")
    machine.ask(1)
    machine.ask(2)
    world.messages()
    press(world, place, f"q.{machine.turn.id}.1.2.0")
    post(world, place, "0002", "Also this.")
    machine.report(acknowledged=["0002"])
    post(world, place, "0003", "And that.")
    machine.ask(3)
    world.queue.send(Notice(place, "n-1", "A notice."), dedupe="n-1", line="notices")
    return world


def _encoded(value: object) -> Json:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    raise TypeError(f"{type(value)} is not stored")


def _decoded(value: Json) -> Any:
    return base64.b64decode(value["base64"]) if set(value) == {"base64"} else value


def _write(name: str, fill: Callable[[MemoryTables], World]) -> None:
    tables = MemoryTables()
    made = record(fill(tables), tables)
    (FOLDER / f"{name}.json").write_text(json.dumps(made, default=_encoded, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    _write(f"{sys.argv[1]}-chats", filled)
    _write(f"{sys.argv[1]}-machine", at_work)
