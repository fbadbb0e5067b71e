"""Answers that are errors are counted, without path and user."""

import asyncio
from dataclasses import replace
from typing import Any

import httpx

from functions.http.app import http_app
from functions.status.routes import router
from shared.ports.metrics import Metric
from shared.store.bundle import store_on
from shared.use_cases.people.authenticate import new_token
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import World


class Recorded:
    """Keeps what is measured."""

    def __init__(self) -> None:
        self.seen: list[tuple[tuple[tuple[Metric, float], ...], dict[str, Any]]] = []

    def put(self, *values: tuple[Metric, float], **about: str | int) -> None:
        self.seen.append((values, about))


def _get(path: str, metrics: Recorded, *, broken: bool = False) -> int:
    world = World(store_on(MemoryTables()))
    services = replace(world.services, metrics=metrics)
    if broken:
        services = replace(services, store=replace(services.store, accounts=None))  # type: ignore[arg-type]

    async def call() -> int:
        transport = httpx.ASGITransport(app=http_app(services, router))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return (await client.get(path, headers={"Authorization": f"Bearer {new_token('ada')}"})).status_code

    return asyncio.run(call())


def test_a_refused_request_is_counted_once() -> None:
    metrics = Recorded()
    assert _get("/sessions/secret-id", metrics) == 401
    assert metrics.seen == [(((Metric.REQUESTS_REFUSED, 1),), {"status": 401})]


def test_a_failed_request_is_counted_once() -> None:
    metrics = Recorded()
    assert _get("/sessions/secret-id", metrics, broken=True) == 500
    assert metrics.seen == [(((Metric.REQUESTS_FAILED, 1),), {"status": 500})]


def test_a_granted_request_is_not_counted() -> None:
    metrics = Recorded()
    assert _get("/health", metrics) == 200
    assert metrics.seen == []
