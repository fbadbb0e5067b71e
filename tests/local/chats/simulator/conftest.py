"""A running simulator, and a receiver of its webhooks that records everything and answers as told."""

import http.server
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus

import pytest

from local.chats.simulator import Simulator


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


class Receiver:
    """Plays the service's webhook function: `answers` are (status, body) for the next calls, then what `reply` says."""

    def __init__(self) -> None:
        self.reply: Callable[[Received], tuple[int, bytes]] = lambda _: (HTTPStatus.OK, b"{}")
        self.calls: queue.Queue[Received] = queue.Queue()
        self.answers: queue.Queue[tuple[int, bytes]] = queue.Queue()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                call = Received(self.path, dict(self.headers), body)
                receiver.calls.put(call)
                try:
                    status, answer = receiver.answers.get_nowait()
                except queue.Empty:
                    status, answer = receiver.reply(call)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def next(self, timeout: float = 10.0) -> Received:
        return self.calls.get(timeout=timeout)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator(retry_scale=0.001) as running:
        yield running


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    yield running
    running.stop()
