"""Events on their way out: signed webhooks, in order per lane, tried again as the platform would until a 2xx."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout

from local.simulator.faults import Faults
from local.simulator.world import Platform


@dataclass(frozen=True)
class Policy:
    """How a platform delivers: how long it waits for an answer, and after which pauses it tries again."""

    timeout: float
    retries: Callable[[], Iterable[float]]
    in_order: bool  # does a failing event hold back the later ones of its lane?


@dataclass(frozen=True)
class Attempt:
    """One try, kept for the curious and for tests; `status` is None when there was no answer."""

    platform: Platform
    event: str
    number: int
    status: int | None


@dataclass(frozen=True)
class Event:
    """One webhook call. It is signed anew for each try, `sign(number, last_status)`, as real timestamps are."""

    platform: Platform
    id: str
    lane: str
    url: Callable[[], str | None]
    body: bytes
    sign: Callable[[int, int | None], Mapping[str, str]]
    policy: Policy
    answered: Callable[[bytes], None] = field(default=lambda _: None)


class Deliveries:
    """Sends events from background tasks of the running loop. Without a URL they wait for one."""

    def __init__(self, faults: Faults, *, retry_scale: float = 1.0) -> None:
        self.attempts: deque[Attempt] = deque(maxlen=2000)
        self._faults = faults
        self._retry_scale = retry_scale
        self._lanes: dict[tuple[Platform, str], asyncio.Queue[Event]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._last_status: dict[str, int | None] = {}
        self._session: ClientSession | None = None
        self._url_changed = asyncio.Event()

    def send(self, event: Event) -> None:
        """Queues the event behind the earlier ones of its lane."""
        key = (event.platform, event.lane)
        if key not in self._lanes:
            self._lanes[key] = asyncio.Queue()
            self.background(self._drain(self._lanes[key]))
        self._lanes[key].put_nowait(event)

    def wake(self) -> None:
        """Some URL changed: events that waited for one look again."""
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
            event = await lane.get()
            if await self._try(event, 0):
                await self._again_on_purpose(event)
            elif event.policy.in_order:
                await self._retry(event)
            else:
                self.background(self._retry(event))

    async def _retry(self, event: Event) -> None:
        for number, pause in enumerate(event.policy.retries(), start=1):
            await asyncio.sleep(pause * self._retry_scale)
            if await self._try(event, number):
                await self._again_on_purpose(event)
                return

    async def _again_on_purpose(self, event: Event) -> None:
        number = 1
        while self._faults.take_redelivery(event.platform):
            await self._try(event, number)
            number += 1

    async def _try(self, event: Event, number: int) -> bool:
        url = await self._url_of(event)
        if self._session is None:
            self._session = ClientSession()
        headers = {"Content-Type": "application/json", **event.sign(number, self._last_status.get(event.id))}
        timeout = ClientTimeout(total=event.policy.timeout)
        status, answer = None, b""
        try:
            async with self._session.post(url, data=event.body, headers=headers, timeout=timeout) as response:
                answer, status = await response.read(), response.status
        except (ClientError, TimeoutError, OSError):
            pass  # no answer is an answer here: the attempt says so, and the policy tries again
        self.attempts.append(Attempt(event.platform, event.id, number, status))
        if status is None or not 200 <= status < 300:
            self._last_status[event.id] = status
            return False
        self._last_status.pop(event.id, None)
        event.answered(answer)
        return True

    async def _url_of(self, event: Event) -> str:
        while (url := event.url()) is None:
            await self._url_changed.wait()
        return url
