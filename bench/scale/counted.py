"""Count what the real use cases do for one handoff and one message, on tables, queues and a platform in memory."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from shared.domain.progress import SHOW_EVERY
from shared.ports.inbound import WebhookRequest
from shared.ports.queue import RunMessage, TurnMessage
from shared.ports.tables import DUE, SESSIONS_DUE, Index, Item, Key, Page, Table, Write
from shared.store.bundle import store_on
from shared.use_cases.chat.receive_message import receive_message
from shared.use_cases.turns.live_progress import LiveProgress
from tests.support.fake_queue import FakeQueue, FakeRunQueue
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import World

T = TypeVar("T")
POSTS = {"open_thread", "send", "edit"}
"""Calls that count for a platform's limit of posts."""


class CountedTables(MemoryTables):
    """Counts requests, and writes to the two indexes of what is due."""

    def __init__(self) -> None:
        super().__init__()
        self.count: Counter[str] = Counter()

    def get(self, table: Table, key: Key) -> Item | None:
        self.count["reads"] += 1
        return super().get(table, key)

    def get_many(self, table: Table, keys: Sequence[Key]) -> list[Item]:
        before = self.count["reads"]
        found = super().get_many(table, keys)
        self.count["reads"] = before + 1
        return found

    def query(self, pk: str, **how: Any) -> Iterator[Item]:
        self.count["reads"] += 1
        return super().query(pk, **how)

    def index(self, index: Index, value: str | int, **how: Any) -> Page:
        self.count["reads"] += 1
        return super().index(index, value, **how)

    def _write(self, writes: Sequence[Write]) -> list[Item | None]:
        before = self._due()
        after = super()._write(writes)
        self.count["requests that write"] += 1
        now = self._due()
        for key in before.keys() | now.keys():
            if before.get(key) != now.get(key):  # a new place in the index is a removal and an addition
                self.count["due"] += (key in before) + (key in now)
        return after

    def _due(self) -> dict[tuple[str, ...], tuple[Any, Any]]:
        found: dict[tuple[str, ...], tuple[Any, Any]] = {}
        for index in (DUE, SESSIONS_DUE):
            for key, item in self._items[index.table].items():
                if index.partition in item and index.sort in item:
                    found[key] = (item[index.partition], item[index.sort])
        return found


class CountedQueue:
    """Passes messages on to the queue of turns, and counts them."""

    def __init__(self, queue: FakeQueue, count: Counter[str]) -> None:
        self._queue, self._count = queue, count

    def send(self, message: TurnMessage, *, dedupe: str, line: str | None = None) -> None:
        self._count["sends"] += 1
        self._queue.send(message, dedupe=dedupe, line=line)


class CountedRuns:
    """The same for runs; a copy that comes later is a message of its own."""

    def __init__(self, queue: FakeRunQueue, count: Counter[str]) -> None:
        self._queue, self._count = queue, count

    def send(self, run: RunMessage, *, delay: float = 0.0, again: float | None = None) -> None:
        self._count["sends"] += 1 + (again is not None)
        self._queue.send(run, delay=delay, again=again)


class Counted:
    """One session, and the counts and processor seconds of the runs since the last `reset`."""

    def __init__(self) -> None:
        self.tables = CountedTables()
        self.world = World(store_on(self.tables))
        self.runs: Counter[str] = Counter()
        self.seconds: dict[str, float] = defaultdict(float)
        self._sends: Counter[str] = Counter()
        queue, runs = CountedQueue(self.world.queue, self._sends), CountedRuns(self.world.runs, self._sends)
        self.world.services = replace(self.world.services, queue=queue, runs=runs)

    def reset(self) -> None:
        self.tables.count.clear()
        self.world.platform.asked.clear()
        self.runs.clear()
        self._sends.clear()

    def hand_over(self, session_id: str = "s-1") -> None:
        """From the request to `completed`."""
        said = [{"role": ("user", "assistant")[number % 2], "content": f"message {number}"} for number in range(40)]
        self.world.session(session_id, messages=said)
        self.reset()
        handoff = self._run("request", lambda: self.world.ask(session_id))
        self._run("process", lambda: self.world.process(handoff))
        self._settle()
        assert self.world.latest(handoff).state.value == "completed"

    def say(self, session_id: str = "s-1", *, event: str = "0001", shows: int = 0, files: int = 0) -> None:
        """From the webhook to the settled turn. The agent's words are shown so often while it works; files come with it."""
        thread = self.world.current(session_id).owner.thread
        self.reset()
        self.world.agent.next.append(lambda: self._speak(shows))
        names = [f"{number}.log" for number in range(files)]
        self.world.platform.files.update({name: name.encode() for name in names})
        beside = ",".join(f"file:file:{name}" for name in names)
        request = WebhookRequest(f"{event}|{thread}|And?|ada-there|{beside}".encode(), {"signature": "good"})
        self._run("webhook", lambda: receive_message(self.world.services, "chat", request))
        self._settle()

    def found(self) -> dict[str, Any]:
        """As `Units` name them."""
        count, asked = self.tables.count, self.world.platform.asked
        return {
            "due": count["due"],
            "reads": count["reads"],
            "tables": count["reads"] + count["requests that write"],
            "sends": self._sends["sends"],
            "posts": sum(call in POSTS for call in asked),
            "calls": len(asked),
            "runs": dict(self.runs),
        }

    def _speak(self, shows: int) -> str:
        """What the agent does; a thread of the function shows its progress each few seconds, which is done here at once."""
        live = getattr(self.world.agent.progress, "__self__", None)
        assert isinstance(live, LiveProgress)
        for number in range(shows):
            self.world.wait(SHOW_EVERY / 1000)
            live.update(f"step {number}")
            live.show()
            self._run("turn", self.world.turn)
        return "done"

    def _settle(self) -> None:
        while True:
            if self.world.runs.waiting and self._has_visible_run():
                self._run("agent", self.world.agent_run)
            elif self.world.queue.waiting:
                self._run("turn", self.world.turn)
            else:
                return

    def _has_visible_run(self) -> bool:
        return any(due <= self.world.clock.now() for _, due in self.world.runs.waiting)

    def _run(self, function: str, work: Callable[[], T]) -> T:
        began = time.thread_time()
        done = work()
        self.seconds[function] += time.thread_time() - began
        self.runs[function] += 1
        return done


def processor_seconds(rounds: int = 60) -> dict[str, float]:
    """The processor seconds of one run of each function, by what its use case takes here."""
    spent: dict[str, float] = defaultdict(float)
    ran: Counter[str] = Counter()
    for _ in range(rounds):
        counted = Counted()
        counted.hand_over()
        ran += counted.runs
        counted.say()
        ran += counted.runs
        for name, seconds in counted.seconds.items():
            spent[name] += seconds
    return {name: spent[name] / ran[name] for name in sorted(ran)}
