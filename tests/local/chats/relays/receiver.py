"""The webhook function's place: notes what a relay posts, and answers what a test tells it to."""

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import web

PATIENCE = 40


@dataclass(frozen=True)
class Posted:
    """One request of a relay; header names in lower case, as Lambda gives them."""

    platform: str
    raw: bytes
    headers: Mapping[str, str]
    status: int


class Receiver:
    """Answers 200, or first the statuses given to `answer`. Each request is noted before it is answered."""

    def __init__(self) -> None:
        self.body = b""
        self._posted: list[Posted] = []
        self._statuses: list[int] = []
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def answer(self, *statuses: int) -> None:
        """The next answers; the last one stays if it is no success, until `recover`."""
        with self._changed:
            self._statuses = list(statuses)

    def recover(self) -> None:
        """200 from now on."""
        self.answer()

    def posted(self, count: int) -> list[Posted]:
        """The first `count` requests, once they are there."""
        return self._await(lambda: self._posted, count)

    def accepted(self, count: int, within: float = PATIENCE) -> list[Posted]:
        """The first `count` requests that were answered 200, once they are there."""
        return self._await(lambda: [one for one in self._posted if one.status == 200], count, within)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._runner, self._port = self._wait(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self._wait(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _await(self, what: Any, count: int, within: float = PATIENCE) -> list[Posted]:
        with self._changed:
            if not self._changed.wait_for(lambda: len(what()) >= count, within):
                raise AssertionError(f"{len(what())} of {count} requests came: {self._posted}")
            found: list[Posted] = what()[:count]
            return found

    def _wait(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    async def _open(self) -> tuple[web.AppRunner, int]:
        app = web.Application()
        app.router.add_post("/webhooks/{platform}", self._take)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return runner, runner.addresses[0][1]

    async def _take(self, request: web.Request) -> web.Response:
        raw = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        with self._changed:
            status = 200
            if self._statuses:
                status = self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]
                if status == 200:
                    self._statuses = []
            self._posted.append(Posted(request.match_info["platform"], raw, headers, status))
            self._changed.notify_all()
        return web.Response(status=status, body=self.body)
