"""The app of a service on one machine: what it answers before FastAPI is loaded, and what waits for that."""

import asyncio
import json
import logging
import threading
import uuid

import httpx
import pytest
from starlette.types import ASGIApp

from local.server.app import App
from local.server.handoff_calls import HandoffCalls
from local.server.routes import all_routes
from local.server.service import Server
from shared.services import Services
from tests.support.api_user import ApiUser


@pytest.mark.parametrize("path", ["/links", "/tokens", "/users", "/runners/r/turns"])
def test_late_routes_are_called(server: Server, path: str) -> None:
    headers = {"Authorization": f"Bearer {server.tokens['owner']}"}
    answer = httpx.get(server.url + path, headers=headers)

    assert answer.json().get("code") != "not_found", answer.text


def test_an_unknown_path_is_not_found(server: Server) -> None:
    headers = {"Authorization": f"Bearer {server.tokens['owner']}"}

    assert httpx.get(f"{server.url}/nothing", headers=headers).json()["code"] == "not_found"


def client(server: Server, app: App) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {server.tokens['owner']}"}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1", headers=headers)


def not_needed(_: Services) -> ASGIApp:
    raise AssertionError("FastAPI must not be needed")


class Held:
    """The routes, loaded when a test says so."""

    def __init__(self) -> None:
        self.begun, self.may_load, self.loads = threading.Event(), threading.Event(), 0

    def __call__(self, services: Services) -> ASGIApp:
        self.loads += 1
        self.begun.set()
        assert self.may_load.wait(30)
        return all_routes(services)


@pytest.mark.parametrize("words", ["hi", "half of an emoji: \ud83d"])
def test_a_handoff_needs_no_fastapi(server: Server, user: ApiUser, words: str) -> None:
    """A request with the headers and the body of a client, and its polls."""

    async def hand_off() -> tuple[httpx.Response, httpx.Response, httpx.Response]:
        body = {"platform": "telegram", "session": {"messages": [{"role": "user", "content": words}]}}
        headers = {
            "Idempotency-Key": uuid.uuid4().hex,
            "Content-Type": "application/json",
        }
        async with client(server, App(server.engine.services, routes=not_needed)) as http:
            health = await http.get("/health")
            asked = await http.post("/handoffs", content=json.dumps(body), headers=headers)
            shown = await http.get(
                f"/handoffs/{asked.json()['id']}", params={"wait": 1, "seen": asked.json()["version"]}
            )
        return health, asked, shown

    health, asked, shown = asyncio.run(hand_off())

    assert [answer.status_code for answer in (health, asked, shown)] == [200, 202, 200]
    assert asked.headers["location"].endswith(f"/handoffs/{asked.json()['id']}")
    assert user.wait_for_handoff(shown.json()["id"])["state"] == "completed"


def test_other_calls_wait_until_fastapi_is_loaded_once(server: Server) -> None:
    async def ask(held: Held) -> list[int]:
        async with client(server, App(server.engine.services, routes=held)) as http:
            waiting = [asyncio.create_task(http.get(path)) for path in ("/platforms", "/sessions", "/tokens")]
            assert await asyncio.to_thread(held.begun.wait, 20)
            health = await http.get("/health")
            assert not any(task.done() for task in waiting)
            held.may_load.set()
            return [health.status_code, *(answer.status_code for answer in await asyncio.gather(*waiting))]

    held = Held()
    assert asyncio.run(ask(held)) == [200, 200, 200, 200]
    assert held.loads == 1


def test_a_client_that_is_gone_while_it_loads_does_no_harm(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    async def ask(held: Held) -> int:
        async with client(server, App(server.engine.services, routes=held)) as http:
            gone = asyncio.create_task(http.get("/platforms"))
            assert await asyncio.to_thread(held.begun.wait, 20)
            gone.cancel()
            with pytest.raises(asyncio.CancelledError):
                await gone
            held.may_load.set()
            return (await http.get("/platforms")).status_code

    with caplog.at_level(logging.ERROR):
        assert asyncio.run(ask(Held())) == 200
    assert not caplog.records


def failing(_: Services, __: ASGIApp | None = None) -> ASGIApp:
    raise ImportError("not installed")


@pytest.mark.parametrize("part", ["calls", "routes"])
def test_a_service_whose_api_cannot_be_loaded_is_not_healthy(server: Server, part: str) -> None:
    async def ask() -> list[int]:
        app = App(server.engine.services, **{part: failing})
        async with client(server, app) as http:
            paths = ("/health", "/platforms", "/health", "/handoffs/x", "/sessions")
            return [(await http.get(path)).status_code for path in paths]

    assert asyncio.run(ask()) == [200, 500, 500, 500, 500]


def test_a_failed_load_is_not_repeated(server: Server) -> None:
    loads: list[int] = []

    def fail(_: Services) -> ASGIApp:
        loads.append(1)
        raise ImportError("no FastAPI")

    async def ask() -> list[int]:
        async with client(server, App(server.engine.services, routes=fail)) as http:
            return [(await http.get("/platforms")).status_code for _ in range(3)]

    assert asyncio.run(ask()) == [500, 500, 500]
    assert loads == [1]


def test_only_health_is_answered_before_anything_is_loaded(server: Server) -> None:
    may_load = threading.Event()

    def held(services: Services, others: ASGIApp) -> ASGIApp:
        assert may_load.wait(30)
        return HandoffCalls(services, others)

    async def ask() -> list[int]:
        async with client(server, App(server.engine.services, calls=held)) as http:
            asked = [
                asyncio.create_task(http.request(method, path))
                for method, path in [
                    ("GET", "/handoffs/x"),
                    ("HEAD", "/health"),
                    ("POST", "/health"),
                    ("GET", "/health?x"),
                ]
            ]
            health = await http.get("/health")
            assert not any(task.done() for task in asked)
            may_load.set()
            return [health.status_code, *(answer.status_code for answer in await asyncio.gather(*asked))]

    assert asyncio.run(ask()) == [200, 404, 405, 405, 200]
