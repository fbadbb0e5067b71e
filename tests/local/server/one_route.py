"""The HTTP server alone, with a route that waits and one that does not."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fastapi import FastAPI

from local.server.http import HttpServer
from local.server.http_connections import Limits
from shared.store.bundle import store_on
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import World

SECONDS = 20
OPEN = "/logins"
"""A path that needs no token."""
AT_ONCE = "/logins/at-once"
LONG = "/logins/long"
"""It answers with a megabyte."""


class OneRoute:
    """A server with one route, which waits for `may_end` in its thread. Those at AT_ONCE and LONG do not wait."""

    def __init__(
        self, sync: Callable[[], None] = lambda: None, *, only_here: bool = False, limits: Limits | None = None
    ) -> None:
        self.called, self.may_end = threading.Semaphore(0), threading.Event()
        self.app = FastAPI()
        self.app.add_api_route(OPEN, self._answer, methods=["GET", "POST"])
        self.app.add_api_route(AT_ONCE, self._answer_at_once, methods=["GET"])
        self.app.add_api_route(LONG, lambda: "x" * 1_000_000, methods=["GET"])
        services = World(store_on(MemoryTables())).services
        self.server = HttpServer(self.app, services, sync=sync, only_here=only_here, limits=limits or Limits())

    @property
    def url(self) -> str:
        return self.url_of(OPEN)

    def url_of(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server.port}{path}"

    def _answer_at_once(self) -> dict[str, str]:
        return {"thread": threading.current_thread().name}

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


def connected(route: OneRoute) -> socket.socket:
    return socket.create_connection(("127.0.0.1", route.server.port), timeout=SECONDS)


def is_closed(client: socket.socket) -> bool:
    """Waits for the end of what the server sends: True if it closed the connection, False after some seconds."""
    try:
        while client.recv(65536):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True
