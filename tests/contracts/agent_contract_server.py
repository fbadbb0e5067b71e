"""A loopback server that answers as it is told to, and keeps what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """One request as it came in; header names in lower case."""

    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


@dataclass(frozen=True)
class Response:
    """What to answer. `declared` is a content length that promises more than comes."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    declared: int | None = None


HANG = Response(status=0)
TRICKLE = Response(status=-1)
Script = Callable[[Request], Response]


class AgentServer:
    """Answers each request with the next response of `script`, the last one for ever after."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.script: list[Response | Script] = []
        self.over = threading.Event()
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"agent_server": self}))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=lambda: self._http.serve_forever(poll_interval=0.01))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def next(self, request: Request) -> Response:
        with self._lock:
            self.requests.append(request)
            step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return step if isinstance(step, Response) else step(request)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.over.set()
        self._http.shutdown()
        self._thread.join(timeout=10)
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    agent_server: AgentServer

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        response = self.agent_server.next(Request(self.path, headers, raw))
        if response is HANG:
            self.agent_server.over.wait(30)
            self.close_connection = True
        elif response is TRICKLE:
            self._trickle()
        else:
            self._answer(response)

    def _answer(self, response: Response) -> None:
        self.send_response(response.status)
        self.send_header("content-type", "application/json")
        length = len(response.body) if response.declared is None else response.declared
        self.send_header("content-length", str(length))
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.body)
        if response.declared is not None:
            self.close_connection = True

    def _trickle(self) -> None:
        """A blank every few milliseconds, as gateways do to keep a connection alive, and never an answer."""
        self.send_response(200)
        self.send_header("content-length", "1000000")
        self.end_headers()
        self.close_connection = True
        try:
            while not self.agent_server.over.wait(0.02):
                self.wfile.write(b" ")
                self.wfile.flush()
        except OSError:
            return  # the client had enough, which is what the test is about

    def log_message(self, *_: object) -> None:
        """Say nothing: a test's output is its failures."""


@contextmanager
def agent_server() -> Iterator[AgentServer]:
    """A running server; what still hangs on it is let go in the end."""
    server = AgentServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()
