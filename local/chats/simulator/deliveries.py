"""Sends events to the webhook: signed, in order per lane, retried as the platform retries until a 2xx."""

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout

from local.chats.simulator.faults import Faults

Sign = Callable[[int, int | None], Mapping[str, str]]
"""Makes fresh headers for each attempt, from its number and the status of the last one."""


@dataclass(frozen=True)
class Policy:
    """How a platform delivers: its time-out, and the pauses before each retry."""

    timeout: float
    retries: Callable[[], Iterable[float]]
    in_order: bool  # does a failing event hold back the later ones of its lane?


def doubling(first: float, longest: float) -> Iterator[float]:
    """Pauses that double up to the longest, without end."""
    return (min(first * 2.0**number, longest) for number in itertools.count())


@dataclass(frozen=True)
class Attempt:
    """One attempt, recorded for tests; `status` is None without an answer."""

    platform: str
    event: str
    number: int
    status: int | None


@dataclass(frozen=True)
class Event:
    """One webhook call."""

    platform: str
    id: str
    body: bytes
    sign: Sign
    policy: Policy
    url: Callable[[], str | None]
    lane: str | None  # events of one lane go one after the other; without a lane, at once
    method: str = "POST"
    answered: Callable[[bytes], None] = field(default=lambda _: None)  # called on the first 2xx, with its body
    missed: Callable[[int | None], None] = field(default=lambda _: None)  # called on any other answer, with its status
    failed: Callable[[], None] = field(default=lambda: None)  # called after the last retry


class Deliveries:
    """Sends events in background tasks of the running loop; without a URL they wait."""

    def __init__(self, faults: Faults, *, retry_scale: float = 1.0) -> None:
        self.attempts: deque[Attempt] = deque(maxlen=2000)
        self._faults = faults
        self._retry_scale = retry_scale
        self._lanes: dict[tuple[str, str], asyncio.Queue[Event]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._session: ClientSession | None = None
        self._url_changed = asyncio.Event()

    def send(self, event: Event) -> None:
        """Queues the event behind the earlier ones of its lane."""
        if event.lane is None:
            self.background(self._deliver(event))
            return
        key = (event.platform, event.lane)
        if key not in self._lanes:
            self._lanes[key] = asyncio.Queue()
            self.background(self._drain(self._lanes[key]))
        self._lanes[key].put_nowait(event)

    def wake(self) -> None:
        """A URL changed: waiting events check it again."""
        self._url_changed.set()
        self._url_changed = asyncio.Event()

    def background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    async def _drain(self, lane: asyncio.Queue[Event]) -> None:
        while True:
            await self._deliver(await lane.get())

    async def _deliver(self, event: Event) -> None:
        attempt, answer = await self._try(event, 0, None)
        if answer is not None:
            await self._delivered(event, answer)
        elif event.policy.in_order:
            await self._retry(event, attempt)
        else:
            self.background(self._retry(event, attempt))

    async def _retry(self, event: Event, last: Attempt) -> None:
        for number, pause in enumerate(event.policy.retries(), start=1):
            await asyncio.sleep(pause * self._retry_scale)
            last, answer = await self._try(event, number, last.status)
            if answer is not None:
                await self._delivered(event, answer)
                return
        event.failed()

    async def _delivered(self, event: Event, answer: bytes) -> None:
        event.answered(answer)
        number = 1
        while self._faults.take_redelivery(event.platform):
            await self._try(event, number, None)
            number += 1

    async def _try(self, event: Event, number: int, last_status: int | None) -> tuple[Attempt, bytes | None]:
        """One attempt, and the body of the answer if it was a 2xx."""
        url = await self._url_of(event)
        if self._session is None:
            self._session = ClientSession()
        headers = {"Content-Type": "application/json", **event.sign(number, last_status)}
        timeout = ClientTimeout(total=event.policy.timeout)
        status, answer = None, b""
        try:
            async with self._session.request(
                event.method, url, data=event.body, headers=headers, timeout=timeout
            ) as response:
                answer, status = await response.read(), response.status
        except (ClientError, TimeoutError, OSError):
            pass  # recorded as an attempt without a status; the policy retries
        attempt = Attempt(event.platform, event.id, number, status)
        self.attempts.append(attempt)
        if status is not None and 200 <= status < 300:
            return attempt, answer
        event.missed(status)
        return attempt, None

    async def _url_of(self, event: Event) -> str:
        while (url := event.url()) is None:
            await self._url_changed.wait()
        return url
