"""Load what an earlier release stored, and run the current code on it."""

import json
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from shared.aws.items import from_item
from shared.domain.handoffs import Handoff, State
from shared.domain.routes import Place, place_of
from shared.ports.queue_text import message_of
from shared.ports.tables import Item, Put, Table, Tables
from shared.store.bundle import store_on
from tests.support.fake_platform import Post, Thread
from tests.support.fake_queue import Waiting
from tests.support.use_case_world import HOME, USER, World

SAMPLES = Path(__file__).parent / "samples"
RELEASES = sorted(path.name for path in SAMPLES.iterdir())
MINUTE = 60
MOST_MINUTES = 60


@dataclass(frozen=True)
class Sample:
    """The tables, the queue and the chats that a release left behind."""

    release: str

    @cached_property
    def data(self) -> Mapping[str, Any]:
        found: dict[str, Any] = json.loads((SAMPLES / self.release / "sample.json").read_text())
        return found

    def items(self, table: Table) -> list[Item]:
        return [from_item(_decoded(item)) for item in self.data[table.name.lower()]]

    def kind(self, sk: str) -> list[Item]:
        """The items of the Sessions table whose sort key begins so."""
        return [item for item in self.items(Table.SESSIONS) if item["sk"].startswith(sk)]

    def load(self, tables: Tables) -> None:
        for table in Table:
            for item in self.items(table):
                tables.put(Put(table, item))

    def world(self, tables: Tables) -> World:
        """The current services on these tables, at the time of the sample, with its queue and its chats."""
        self.load(tables)
        world = World(store_on(tables))
        world.clock.time = self.data["now"]
        for each in self.data["threads"]:
            world.platform.threads[Place("chat", HOME.chat, each["thread"])] = Thread("", each["key"])
        for each in self.data["posts"]:
            place = place_of(each["route"])
            world.platform.posts[place].append(Post(f"old {each['key']}", each["key"], each["text"]))
        for each in self.data["queue"]:
            world.queue.waiting.append(Waiting(message_of(each["body"]), each["line"]))
        for body in self.data["dead"]:
            world.dead.bury(message_of(body))
        return world


def handoffs_of(world: World) -> list[Handoff]:
    return list(world.store.handoffs.list(USER, session_id=None, state=None, limit=1000))


def drive(world: World) -> None:
    """Let stream, queues and sweep work, minute by minute, until nothing is open and nothing is queued."""
    for _ in range(MOST_MINUTES):
        for handoff in handoffs_of(world):
            if handoff.state is State.PENDING:
                world.process(handoff)
        while world.agents() or world.turn() is not None:
            pass
        world.sweep()
        if world.next_at() is None and not any(handoff.is_open for handoff in handoffs_of(world)):
            return
        world.wait(MINUTE)
    raise AssertionError(f"open after {MOST_MINUTES} minutes: {world.queue.waiting}")


def _decoded(item: Mapping[str, Any]) -> dict[str, Any]:
    """Bytes are base64 in JSON; they occur at the top of an item only."""
    return {name: {"B": b64decode(value["B"])} if "B" in value else value for name, value in item.items()}
