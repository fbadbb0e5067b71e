"""A client that goes away in the middle of its body: nothing of it is used, and it is no error of the service."""

import asyncio
import socket
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse

from functions.http.app import http_app
from functions.request.routes import router
from local.server.http import HttpServer
from shared.store.bundle import store_on
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import World

HEAD = b"PUT /webhooks/any HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n"


def test_the_app_is_not_called(caplog: pytest.LogCaptureFixture) -> None:
    called: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        called.append(scope["method"])
        await PlainTextResponse("whole")(scope, receive, send)

    server = HttpServer(app, World(store_on(MemoryTables())).services, sync=lambda: None, only_here=False)
    server.start("127.0.0.1", 0)
    try:
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(HEAD + b'{"title": "cut')
        assert httpx.post(f"http://127.0.0.1:{server.port}/webhooks/any", content=b"{}").text == "whole"
    finally:
        server.stop()
    assert called == ["POST"]
    assert "Traceback" not in caplog.text


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
