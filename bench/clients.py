"""Clients of a service: each asks for a handoff and follows it as the CLI does, many of them on one event loop."""

import asyncio
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

PLATFORM = "telegram"
WAIT = 25


@dataclass(frozen=True)
class Target:
    """A service, and the token of a user. `pause` replaces the one that a service asks for which holds no requests."""

    url: str
    token: str
    pause: float = 0.005


def every_call_answers(target: Target) -> None:
    """Return when a call does that needs a token, the database and the platforms. Raises ClientError if it is refused."""

    async def run() -> None:
        async with _session(target) as http, http.get("/platforms", raise_for_status=True) as answer:
            await answer.read()

    asyncio.run(run())


def one_by_one(target: Target, count: int, platform: str = PLATFORM) -> list[float]:
    """The seconds from the request to `completed` of each."""

    async def run() -> list[float]:
        async with _session(target) as http:
            return [await _hand_off(http, target, platform) for _ in range(count)]

    return asyncio.run(run())


def in_turns(targets: Sequence[Target], rounds: int) -> list[list[float]]:
    """The same for several services, one handoff on each in turn, so that load on the machine strikes them alike."""

    async def run() -> list[list[float]]:
        sessions = [_session(target) for target in targets]
        found: list[list[float]] = [[] for _ in targets]
        for _ in range(rounds):
            for target, http, seconds in zip(targets, sessions, found, strict=True):
                seconds.append(await _hand_off(http, target, PLATFORM))
        for http in sessions:
            await http.close()
        return found

    return asyncio.run(run())


def at_once(target: Target, count: int, platforms: Sequence[str] = (PLATFORM,)) -> tuple[float, int]:
    """The seconds until the last of `count` handoffs is completed, and how many were."""

    async def run() -> tuple[float, int]:
        async with _session(target) as http:
            began = time.perf_counter()
            work = [_hand_off(http, target, platforms[number % len(platforms)]) for number in range(count)]
            ended = await asyncio.gather(*work, return_exceptions=True)
            return time.perf_counter() - began, sum(isinstance(one, float) for one in ended)

    return asyncio.run(run())


def _session(target: Target) -> aiohttp.ClientSession:
    headers = {"Authorization": f"Bearer {target.token}"}
    return aiohttp.ClientSession(
        target.url,
        headers=headers,
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=120),
    )


async def _hand_off(http: aiohttp.ClientSession, target: Target, platform: str) -> float:
    """Raises RuntimeError if it fails."""
    began = time.perf_counter()
    body = {"platform": platform, "session": {"title": "Bench", "messages": [{"role": "user", "content": "hi"}]}}
    async with http.post("/handoffs", json=body, headers={"Idempotency-Key": uuid.uuid4().hex}) as answer:
        view: dict[str, Any] = await answer.json()
    while not view["done"]:
        async with http.get(f"/handoffs/{view['id']}", params={"wait": WAIT, "seen": view["version"]}) as answer:
            view = await answer.json()
        if view["poll_after_ms"] and not view["done"]:
            await asyncio.sleep(target.pause)
    if view["error"]:
        raise RuntimeError(view["error"]["message"])
    return time.perf_counter() - began
