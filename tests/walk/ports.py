"""The ports of a walk: each call is a step, before which other actors may run or this one may die."""

# a fake takes what its port passes, and need not use it

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from shared.domain.files import ChatFile
from shared.domain.messages import Message
from shared.domain.routes import Place
from shared.errors import AgentCancelled, AgentError, Conflict, NotSent
from shared.ports.agents import Listener, TurnInput
from shared.ports.queue import RunMessage, TurnMessage
from shared.ports.tables import Delete, Index, Item, Key, Page, Put, Table, Update, Write
from shared.store.orders import orders_of
from tests.support.fake_platform import FakePlatform, Idempotency
from tests.support.fake_queue import FakeQueue, FakeRunQueue, ManualClock, Waiting
from tests.support.memory_files import MemoryFiles
from tests.support.memory_tables import MemoryTables

T = TypeVar("T")


class Stage(Protocol):
    """What the ports need of a walk."""

    def step(self, *what: object) -> None:
        """A call is about to happen. Raises Killed."""

    def trouble(self) -> str | None:
        """What befalls the write that is about to happen: `refused`, `answer lost` or nothing."""

    def wrote(self, writes: Sequence[Write], before: Sequence[Item | None], after: Sequence[Item | None]) -> None:
        """A write has happened."""

    def may(self, fault: str, chance: float) -> bool:
        """Use up something that may happen a few times in a walk."""

    def posted(self, key: str) -> None:
        """A message has arrived at the platform for the first time."""

    def work(self, messages: Sequence[Message], progress: Listener | None) -> str | AgentError:
        """The agent works: time passes, its heartbeats beat. Returns its reply or how it fails."""


class WalkTables(MemoryTables):
    """Tables in memory whose calls are steps."""

    def __init__(self, stage: Stage, base: MemoryTables) -> None:
        super().__init__()
        self._stage = stage
        self._items = {table: dict(items) for table, items in base._items.items()}

    def all(self, table: Table) -> list[Item]:
        """All items, not copied: only to be looked at."""
        return list(self._items[table].values())

    def look(self, *key: str) -> Item:
        """An item of the Sessions table as it is, not copied; empty if there is none."""
        return self._items[Table.SESSIONS].get(key, {})

    def has_due(self, now: int) -> bool:
        """Whether a sweep would find anything."""
        return any(item.get("due_at", now + 1) <= now for table in Table for item in self._items[table].values())

    def has_pointers(self, now: int) -> bool:
        """Whether a runner that polls would find anything."""
        polled = [item for (pk, *_), item in self._items[Table.SESSIONS].items() if pk.startswith("RUNNER#")]
        waiting = [item for item in polled if not item["sk"].startswith("ORDER#")]
        return bool(waiting) or any(order.may_be_taken(now) for order in orders_of(polled))

    def questions(self) -> list[str]:
        """The beginnings of the buttons of all questions that are stored."""
        keys = [sk.split("#")[1:] for _, sk in self._items[Table.SESSIONS] if sk.startswith("Q#")]
        return [f"q.{turn_id}.{int(fence)}.{int(number)}" for turn_id, fence, number in keys]

    def get(self, table: Table, key: Key) -> Item | None:
        self._stage.step("get", key)
        return super().get(table, key)

    def get_many(self, table: Table, keys: Sequence[Key]) -> list[Item]:
        self._stage.step("get_many", keys)
        found = (super(WalkTables, self).get(table, key) for key in keys)
        return [item for item in found if item is not None]

    def query(
        self, pk: str, *, low: str, high: str | None = None, backwards: bool = False, page: int | None = None
    ) -> Iterator[Item]:
        self._stage.step("query", pk, low)
        yield from super().query(pk, low=low, high=high, backwards=backwards, page=page)

    def index(self, index: Index, value: str | int, **more: Any) -> Page:
        if value in (0, "0"):  # one step for all shards: none of them is more interesting
            self._stage.step("index", index.table.name, index.name)
        return super().index(index, value, **more)

    def put(self, write: Put) -> None:
        self._one(write, lambda: super(WalkTables, self).put(write))

    def update(self, write: Update) -> Item:
        return self._one(write, lambda: super(WalkTables, self).update(write))

    def delete(self, write: Delete) -> None:
        self._one(write, lambda: super(WalkTables, self).delete(write))

    def transact(self, writes: Sequence[Write]) -> None:
        self._stage.step("transact", writes)
        if self._stage.trouble():
            raise Conflict("another transaction is writing the same items")
        super().transact(writes)

    def _one(self, write: Put | Update | Delete, act: Callable[[], T]) -> T:
        """One write. If its answer is lost, the client repeats it and gets the answer to the repeat."""
        self._stage.step(write)
        match self._stage.trouble():
            case "refused":
                raise Conflict("a transaction is writing the same item")
            case "answer lost":
                act()
        return act()

    def _write(self, writes: Sequence[Write]) -> list[Item | None]:
        before = [
            self._items[write.table].get(tuple(write.key[name] for name in write.table.value)) for write in writes
        ]
        after = super()._write(writes)
        self._stage.wrote(writes, before, after)
        return after


class WalkQueue(FakeQueue):
    """The queue of turns, whose readers are chosen by the walk."""

    def __init__(self, stage: Stage, clock: ManualClock) -> None:
        super().__init__(clock)
        self._stage = stage

    def send(self, message: TurnMessage, *, dedupe: str, line: str | None = None) -> None:
        self._stage.step("send", message)
        super().send(message, dedupe=dedupe, line=line)

    def heads(self) -> list[Waiting]:
        """The first message of each line, in flight or not."""
        return list({one.line: one for one in reversed(self.waiting)}.values())


class WalkRuns(FakeRunQueue):
    """The queue of runs."""

    def __init__(self, stage: Stage, clock: ManualClock) -> None:
        super().__init__(clock)
        self._stage = stage

    def send(self, run: RunMessage, *, delay: float = 0.0, again: float | None = None) -> None:
        self._stage.step("run", run.session_id, f"in {delay:.0f} s")
        super().send(run, delay=delay, again=again)


class WalkFiles(MemoryFiles):
    """Files in memory whose writes are steps."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self._stage = stage

    def put(self, key: str, content: Iterable[bytes], *, size: int, media_type: str) -> None:
        self._stage.step("put", key)
        super().put(key, content, size=size, media_type=media_type)

    def copy(self, source: str, target: str) -> None:
        self._stage.step("copy", target)
        super().copy(source, target)

    def delete(self, prefix: str) -> None:
        self._stage.step("delete", prefix)
        super().delete(prefix)


class WalkPlatform(FakePlatform):
    """A platform whose operations are steps."""

    def __init__(self, stage: Stage, idempotency: Idempotency) -> None:
        super().__init__(idempotency)
        self._stage = stage

    def fetch_file(self, place: Place, file: ChatFile, *, limit: int) -> Iterator[bytes]:
        if self._stage.may("refusal", 0.7):
            raise NotSent("down")
        return super().fetch_file(place, file, limit=limit)

    def find_thread(self, home: Place, *, key: str) -> Place | None:
        self._stage.step("find_thread")
        return super().find_thread(home, key=key)

    def find_message(self, place: Place, *, key: str) -> str | None:
        self._stage.step("find_message", key)
        return super().find_message(place, key=key)

    def _do(self, operation: str, act: Callable[[], T]) -> T:
        self._stage.step(operation)
        return super()._do(operation, act)

    def _post(self, place: Place, part: Any, key: str, file: str = "", content: bytes = b"") -> str:
        is_new = self._posted(place, key) is None
        message_id = super()._post(place, part, key, file, content)
        if is_new:
            self._stage.posted(key)
        return message_id


class WalkAgent:
    """The agent of a walk. A cancelled one may still answer: the answer was on its way."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def reply(self, turn: TurnInput) -> str:
        self._stage.step("agent.reply", len(turn.messages), turn.note or "")
        answer = self._stage.work(turn.messages, turn.progress)
        if isinstance(answer, AgentCancelled) and not turn.cancellation.is_cancelled:
            return "not cancelled after all"
        if isinstance(answer, AgentError):
            raise answer
        return answer
