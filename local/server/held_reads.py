"""Reads that wait for a write: on the event loop, without a thread and without asking the database again and again."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from shared.ports.changes import LONGEST_HOLD, Read, Subject, of_handoff, of_runner, of_session
from shared.ports.tables import Table
from shared.store.keys import RUNNER, meta_key, user_partition

T = TypeVar("T")
MOST_READERS = 2000
"""More than these are answered at once, so that clients that never end cannot fill the memory."""
_META = meta_key("")["sk"]


class HeldReads:
    """The `Changes` port in one process. `changed` may be called in any thread, after the commit.

    `count` readers wait at the moment.
    """

    def __init__(self, *, most: int = MOST_READERS) -> None:
        self._most = most
        self._readers: dict[Subject, set[_Reader]] = {}
        self.count = 0
        self._is_closed = False

    def changed(self, subject: Subject) -> None:
        """Wake the readers of a subject. Returns at once, and costs next to nothing if there are none."""
        for reader in tuple(self._readers.get(subject, ())):
            reader.wake()

    def close(self) -> None:
        """Answer all readers now, and later ones at once: the service stops."""
        self._is_closed = True
        for subject in tuple(self._readers):
            self.changed(subject)

    async def hold(
        self,
        subjects: Collection[Subject],
        seconds: float,
        read: Callable[[], T],
        is_news: Callable[[T], bool],
    ) -> Read[T]:
        if seconds <= 0 or self._is_closed or self.count >= self._most:
            return Read(read(), was_held=False)
        loop = asyncio.get_running_loop()
        end = loop.time() + min(seconds, LONGEST_HOLD)
        with self._reader(subjects) as reader:  # before the first read, so that no write falls between
            while True:
                reader.begin()
                value = read()
                if self._is_closed or is_news(value):
                    return Read(value, was_held=not self._is_closed)
                try:
                    async with asyncio.timeout_at(end):
                        await reader.changed.wait()
                except TimeoutError:
                    return Read(value, was_held=True)

    @contextmanager
    def _reader(self, subjects: Collection[Subject]) -> Iterator["_Reader"]:
        reader = _Reader()
        for subject in subjects:
            self._readers.setdefault(subject, set()).add(reader)
        self.count += 1
        try:
            yield reader
        finally:
            self.count -= 1
            for subject in set(subjects):
                others = self._readers[subject]
                others.discard(reader)
                if not others:
                    del self._readers[subject]


class _Reader:
    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self._is_woken = False
        self._loop = asyncio.get_running_loop()

    def begin(self) -> None:
        """Before each read: what is written from now on wakes it again."""
        self._is_woken = False
        self.changed.clear()

    def wake(self) -> None:
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon_threadsafe(self.changed.set)


def subject_of(table: Table, item: Mapping[str, Any]) -> Subject | None:
    """The subject that a write of this item changes for readers; None if none of them waits for such items."""
    if table is Table.HANDOFFS:
        return of_handoff(item["handoff_id"])
    if item["sk"] == _META:
        return of_session(item["session_id"])
    if item["pk"].startswith(RUNNER):
        return of_runner(*item["pk"].removeprefix(RUNNER).split("/", 1))
    if item["sk"].startswith(RUNNER):  # a revoked one learns of it at once
        return of_runner(item["pk"].removeprefix(user_partition("")), item["sk"].removeprefix(RUNNER))
    return None
