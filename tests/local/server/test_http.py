"""The HTTP server: which requests reach the app, when they are answered, and how it stops."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from functions.http.guard import MAX_BODY
from local.server.http import HttpServer
from shared.errors import DataFileUnflushed
from shared.store.bundle import store_on
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import World
from tests.support.waiting import eventually

SECONDS = 20
OPEN = "/logins"
"""A path that needs no token."""


class OneRoute:
    """A server with one route, which waits for `may_end` in its thread."""

    def __init__(self, sync: Callable[[], None] = lambda: None, *, only_here: bool = False) -> None:
        self.called, self.may_end = threading.Semaphore(0), threading.Event()
        self.app = FastAPI()
        self.app.add_api_route(OPEN, self._answer, methods=["GET", "POST"])
        services = World(store_on(MemoryTables())).services
        self.server = HttpServer(self.app, services, sync=sync, only_here=only_here)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}{OPEN}"

    def _answer(self) -> dict[str, str]:
        self.called.release()
        assert self.may_end.wait(SECONDS)
        return {"thread": threading.current_thread().name}


@contextmanager
def running(route: OneRoute, *, waits: bool = False) -> Iterator[OneRoute]:
    if not waits:
        route.may_end.set()
    route.server.start("127.0.0.1", 0)
    try:
        yield route
    finally:
        route.may_end.set()
        route.server.stop()
        assert route.server.wait_idle(SECONDS)


def test_a_route_that_may_wait_does_not_hold_up_others() -> None:
    with running(OneRoute(), waits=True) as route, ThreadPoolExecutor(10) as clients:
        answers = [clients.submit(httpx.get, route.url, timeout=SECONDS) for _ in range(10)]
        for _ in answers:
            assert route.called.acquire(timeout=SECONDS)
        route.may_end.set()

        assert {answer.result().status_code for answer in answers} == {200}


@pytest.mark.parametrize(("method", "expected"), [("POST", ["sync"]), ("GET", [])])
def test_an_answer_to_a_write_waits_for_the_disk(method: str, expected: list[str]) -> None:
    done: list[str] = []
    with running(OneRoute(lambda: done.append("sync"))) as route:
        assert httpx.request(method, route.url).status_code == 200

    assert done == expected


def test_a_disk_that_refuses_is_an_answer() -> None:
    def refuse() -> None:
        raise DataFileUnflushed("data", "I/O error")

    with running(OneRoute(refuse)) as route:
        answer = httpx.post(route.url)

    assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (
        503,
        "storage_unavailable",
        "5",
    )


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 200), ({"Host": "evil.example"}, 403), ({"Origin": "http://evil.example"}, 403)],
)
def test_pages_of_other_origins_are_refused(headers: dict[str, str], status: int) -> None:
    with running(OneRoute(only_here=True)) as route:
        assert httpx.get(route.url, headers=headers).status_code == status


def test_a_connection_is_kept_after_a_body_that_was_too_large() -> None:
    with running(OneRoute()) as route, httpx.Client() as client:
        refused = client.post(route.url, content=b"x" * (MAX_BODY + 1))
        answers = [client.post(route.url) for _ in range(3)]

    assert (refused.status_code, refused.json()["code"]) == (413, "body_too_large")
    assert [answer.status_code for answer in answers] == [200, 200, 200]


def test_headers_without_an_end_are_refused() -> None:
    with running(OneRoute()) as route, connected(route) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: " + b"x" * 60_000)

        assert client.recv(1000).startswith(b"HTTP/1.1 400 ")


def test_the_first_byte_of_a_body_can_be_waited_for() -> None:
    head = f"POST {OPEN} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    with running(OneRoute()) as route, connected(route) as client:
        client.sendall(head.encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 100 ")
        client.sendall(b"{}")

        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")


def test_a_stop_answers_and_waits_for_the_thread() -> None:
    with running(OneRoute(), waits=True) as route, ThreadPoolExecutor(1) as clients:
        answer = clients.submit(httpx.post, route.url, timeout=SECONDS)
        assert route.called.acquire(timeout=SECONDS)
        route.server.stop()

        assert (answer.result().status_code, answer.result().json()["code"]) == (500, "internal")
        assert not route.server.wait_idle(0.01)
        route.may_end.set()
        assert route.server.wait_idle(SECONDS)


def test_a_stop_does_not_wait_for_the_rest_of_a_body(caplog: pytest.LogCaptureFixture) -> None:
    with running(OneRoute()) as route, connected(route) as client:
        client.sendall(f"POST {OPEN} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{{".encode())
        eventually(lambda: route.server._server.server_state.tasks)
        route.server.stop()

        assert route.server.wait_idle(0)
    assert not route.called.acquire(blocking=False)
    assert "Traceback" not in caplog.text


def test_a_port_in_use_is_an_error() -> None:
    with running(OneRoute()) as route, pytest.raises(OSError, match="in use"):
        OneRoute().server.start("127.0.0.1", route.server.port)


def connected(route: OneRoute) -> Any:
    return socket.create_connection(("127.0.0.1", route.server.port), timeout=SECONDS)
