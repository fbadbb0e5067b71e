"""A client that goes away in the middle of its body: nothing of it is used, and it is no error of the service."""

import asyncio
import queue
import socket
from typing import Any

import pytest

from functions.http.app import http_app
from functions.request.routes import router
from local.server.http import HttpServer
from local.server.pool import Pool
from shared.store.bundle import store_on
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import World

HEAD = "PUT /webhooks/any HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\r\n"
LARGE = HEAD.format(100_000).encode()
SMALL = HEAD.format(99).encode()


def test_the_app_is_told_that_the_client_is_gone() -> None:
    """A large body is passed on as it arrives; a small one whole, or the app is not called."""
    heard: queue.Queue[dict[str, Any]] = queue.Queue()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (message := await receive())["type"] == "http.request":
            heard.put(message)
        heard.put(message)

    server = HttpServer(app, Pool(2, "test"), Pool(1, "test"), sync=lambda: None, only_here=False)
    server.start("127.0.0.1", 0)
    try:
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(SMALL + b'{"title": "lost')
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(LARGE + b'{"title": "cut')
            assert heard.get(timeout=20)["body"] == b'{"title": "cut'
        assert heard.get(timeout=20) == {"type": "http.disconnect"}
    finally:
        server.stop()
    assert heard.empty()


def test_a_part_of_a_body_is_not_used(caplog: pytest.LogCaptureFixture) -> None:
    world = World(store_on(MemoryTables()))
    parts = [{"type": "http.request", "body": b"{}", "more_body": True}, {"type": "http.disconnect"}]
    sent: list[dict[str, Any]] = []

    async def receive() -> Any:
        return parts.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/webhooks/any", "headers": [], "query_string": b""}
    asyncio.run(http_app(world.services, router)(scope, receive, send))
    assert sent[0]["status"] == 400
    assert caplog.text == ""
