"""Requests that wait for a platform: a few of each at once, so that all others find a thread."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import httpx
import pytest
from fastapi import FastAPI

from local.server.http import SHARE, WRITES, HttpServer, Shares
from shared.platforms.registry import PlatformRegistry
from shared.settings import Settings
from shared.store.bundle import store_on
from tests.support.memory_tables import MemoryTables
from tests.support.secrets import FakeSecrets
from tests.support.use_case_world import World

SECONDS = 20
MANY = WRITES + 8


class Hanging:
    """A server whose webhooks of one platform wait for `may_end`, with `MANY` clients that have posted one."""

    def __init__(self, clients: ThreadPoolExecutor) -> None:
        self.called, self.may_end = threading.Semaphore(0), threading.Event()
        app = FastAPI()
        app.add_api_route("/webhooks/chat", self._wait, methods=["POST"])
        app.add_api_route("/logins", lambda: "written", methods=["POST"])
        self.server = HttpServer(app, World(store_on(MemoryTables())).services, sync=lambda: None, only_here=False)
        self.server.start("127.0.0.1", 0)
        self.posted: list[Future[httpx.Response]] = [clients.submit(self.post, "/webhooks/chat") for _ in range(MANY)]
        for _ in range(SHARE):
            assert self.called.acquire(timeout=SECONDS)

    def post(self, path: str, body: bytes = b"") -> httpx.Response:
        return httpx.post(f"http://127.0.0.1:{self.server.port}{path}", content=body, timeout=SECONDS)

    def _wait(self) -> str:
        self.called.release()
        assert self.may_end.wait(SECONDS)
        return "received"


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    with ThreadPoolExecutor(MANY) as clients:
        made = Hanging(clients)
        yield made
        made.may_end.set()
        made.server.stop()
        assert made.server.wait_idle(SECONDS)


def test_webhooks_of_a_platform_that_hangs_hold_up_no_other_request(hanging: Hanging) -> None:
    assert hanging.post("/logins").json() == "written"
    assert not hanging.called.acquire(timeout=0)
    hanging.may_end.set()
    assert {one.result(SECONDS).status_code for one in hanging.posted} == {200}, "those that waited are not lost"


def test_those_that_wait_for_a_platform_leave_room_to_all_others(hanging: Hanging) -> None:
    with ThreadPoolExecutor(6) as clients:
        refused = [clients.submit(hanging.post, "/webhooks/chat", b" " * 1_000_000) for _ in range(6)]
        answered, waiting = wait(refused, SECONDS, return_when=FIRST_COMPLETED)
        assert {one.result().status_code for one in answered} == {500}
        assert waiting
        hanging.may_end.set()
    assert {one.result(SECONDS).status_code for one in hanging.posted} == {200}


def test_a_stop_ends_requests_that_wait_for_others(hanging: Hanging) -> None:
    hanging.server.stop()

    assert not wait(hanging.posted, SECONDS).not_done
    hanging.may_end.set()
    assert hanging.server.wait_idle(SECONDS)
    assert not hanging.called.acquire(timeout=0), "none of those that waited has begun"


def share_of(shares: Shares, method: str, path: str, body: object = None) -> object:
    """What a request must hold while it runs; None if there is no limit."""
    return shares.of({"method": method, "path": path}, json.dumps(body).encode())


def test_all_requests_that_may_wait_for_a_platform_have_its_share() -> None:
    shares = Shares(PlatformRegistry(Settings("handoffs", "sessions", "turns"), FakeSecrets()))
    slack, telegram = (share_of(shares, "POST", f"/webhooks/{name}") for name in ("slack", "telegram"))
    nobodys = share_of(shares, "POST", "/notices", {"text": "hi"})

    assert None not in (slack, telegram, nobodys)
    assert len({id(one) for one in (slack, telegram, nobodys)}) == 3
    assert share_of(shares, "PUT", "/platforms/slack/home", {"chat": "C1"}) is slack
    for path in ("/notices", "/links", "/invitations"):
        assert share_of(shares, "POST", path, {"platform": "slack"}) is slack
        for named in ({"platform": ["slack"]}, {"platform": "other"}, None):
            assert share_of(shares, "POST", path, named) is nobodys
    assert share_of(shares, "GET", "/doctor") not in (None, slack, telegram, nobodys)
    for method, path in (("POST", "/handoffs"), ("GET", "/links"), ("POST", "/webhooks/other"), ("GET", "/health")):
        assert share_of(shares, method, path) is None


def test_platforms_that_hang_leave_threads_to_all_others() -> None:
    known = PlatformRegistry(Settings("handoffs", "sessions", "turns"), FakeSecrets()).known()

    assert (len(known) + 1) * SHARE < WRITES
