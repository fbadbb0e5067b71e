"""Clients without a token that hold all they can: everyone else is served, in bounded memory."""

import gzip
import resource
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.support.api_user import ApiUser
from tests.support.server_process import ServerProcess
from tests.support.waiting import on_this_machine

IDLE, SLOW, TINY, COMPRESSED = 1000, 64, 8, 4
SECONDS = 2.0
ROUNDS = 10
MOST_GROWTH = 150
"""Megabytes."""
SLOW_HEAD = b"POST /logins HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
PIECE = b"800\r\n" + b" " * 0x800 + b"\r\n"
CRUMBS = b"1\r\nx\r\n" * 5000
"""Chunks of one byte: each costs the parser as much time as a large one."""
BLANKS = 50_000_000
"""In each compressed body, which is a thousandth of that."""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServerProcess]:
    """Started with the usual 1,024 descriptors. This process may have as many as the system allows."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, most), most))
    process = ServerProcess(tmp_path / "data")
    try:
        process.start()
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(before, min(4096, most)), most))
        yield process
        assert process.stop() == 0
    finally:
        process.kill()
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


class Flood:
    """Idle connections, bodies that do not end, in tiny chunks too, and compressed ones, all at once and again if closed."""

    def __init__(self, url: str) -> None:
        self._url = httpx.URL(url)
        self._is_over = threading.Event()
        self.opened: dict[str, int] = {"idle": 0, "slow": 0, "tiny": 0, "compressed": 0}

    @contextmanager
    def running(self) -> Iterator[None]:
        with ExitStack() as stack:
            for target in (self._hold_idle, self._drip, self._crumble, *[self._compress] * COMPRESSED):
                thread = threading.Thread(target=target)
                thread.start()
                stack.callback(thread.join)
            stack.callback(self._is_over.set)
            yield

    def _connect(self) -> socket.socket:
        return socket.create_connection((self._url.host, self._url.port or 80), timeout=5)

    def _hold(self, name: str, count: int, send: Callable[[socket.socket, bool], None], pause: float) -> None:
        held: list[socket.socket | None] = [None] * count
        while not self._is_over.wait(pause):
            for number, client in enumerate(held):
                try:
                    if client is None:
                        held[number] = new = self._connect()
                        self.opened[name] += 1
                        send(new, True)
                    else:
                        send(client, False)
                except OSError:
                    if client is not None:
                        client.close()
                    held[number] = None
        for client in filter(None, held):
            client.close()

    def _hold_idle(self) -> None:
        self._hold("idle", IDLE, lambda client, is_new: client.sendall(b"G") if is_new else None, 0.5)

    def _drip(self) -> None:
        self._hold("slow", SLOW, lambda client, is_new: client.sendall(SLOW_HEAD if is_new else PIECE), 0.05)

    def _crumble(self) -> None:
        self._hold("tiny", TINY, lambda client, is_new: client.sendall(SLOW_HEAD if is_new else CRUMBS), 0.05)

    def _compress(self) -> None:
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        body = gzip.compress(b" " * BLANKS)
        while not self._is_over.is_set():
            with suppress(httpx.TransportError):
                answer = httpx.post(f"{self._url}/webhooks/telegram", content=body, headers=headers, timeout=5)
                assert answer.status_code == 415
                self.opened["compressed"] += 1


def megabytes(process: ServerProcess) -> float:
    assert process.process is not None
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(process.process.pid)], capture_output=True, check=True)
    return int(shown.stdout) / 1024


@pytest.mark.timeout(180)
def test_clients_without_a_token_hold_up_nobody(service: ServerProcess) -> None:
    user, flood = service.user(), Flood(service.url)
    user.http.event_hooks = {}  # reading the contract takes longer than the calls
    user.hand_off(user.create_session())
    before, most, slowest = megabytes(service), 0.0, 0.0
    with flood.running():
        while (
            flood.opened["idle"] < IDLE
            or flood.opened["slow"] < SLOW
            or flood.opened["tiny"] < TINY
            or not flood.opened["compressed"]
        ):
            time.sleep(0.05)
        for _ in range(ROUNDS):
            slowest, most = max(slowest, *calls(user)), max(most, megabytes(service))

    assert slowest < on_this_machine(SECONDS)
    assert most - before < MOST_GROWTH
    log = (service.data / "log").read_text()
    assert "Traceback" not in log
    assert len(log) < 1_000_000  # a line for each refused request


def calls(user: ApiUser) -> Iterator[float]:
    """A call of each kind with connections of its own, and the seconds that it took."""
    with httpx.Client(base_url=user.http.base_url, headers=user.http.headers, timeout=30) as client:
        user.http = client
        for call in (
            lambda: client.get("/health").raise_for_status(),
            lambda: client.post("/webhooks/telegram", json={}).status_code == 401,
            lambda: user.hand_off(user.create_session()),
            lambda: client.get(f"/sessions/{user.create_session()}/messages").raise_for_status(),
        ):
            began = time.monotonic()
            assert call()
            yield time.monotonic() - began
