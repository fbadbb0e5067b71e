"""A body with a Content-Encoding: refused before it is read."""

import asyncio
from typing import Any

import pytest

from functions.http.app import http_app
from functions.webhook.routes import router
from shared.store.bundle import store_on
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import World


@pytest.mark.parametrize(
    ("path", "encoding", "is_read", "status"),
    [
        ("/webhooks/any", b"gzip", False, 415),
        ("/logins", b"BR", False, 415),
        ("/sessions", b"gzip", False, 401),
        ("/webhooks/any", b"identity", True, 401),
    ],
)
def test_an_encoded_body_is_refused_before_it_is_read(
    path: str, encoding: bytes, status: int, *, is_read: bool
) -> None:
    read: list[bool] = []
    sent: list[dict[str, Any]] = []

    async def receive() -> Any:
        read.append(True)
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-encoding", encoding)]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers, "query_string": b""}
    asyncio.run(http_app(World(store_on(MemoryTables())).services, router)(scope, receive, send))

    assert (sent[0]["status"], bool(read)) == (status, is_read)
