"""HTTP servers on loopback that record their requests and answer as a test tells them to."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

WAIT_SECONDS = 40.0
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients of servers on loopback: httpx loads all authorities of the world otherwise, which takes as long as ten calls."""


@dataclass(frozen=True)
class Request:
    """One request; header names in lower case, `path` without the query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""
    query: Mapping[str, str] = field(default_factory=dict)
    """The last value of each name."""
    raw_query: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Response:
    """One answer. `declared` overrides the content length, to announce more bytes than are sent.

    `raw` is sent instead of all the rest: bytes that need not be HTTP. `pieces` are sent instead of `body`, each as soon as
    the iterable yields it; one that `hangs` then sends nothing more until the client closes the connection.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    declared: int | None = None
    raw: bytes | None = None
    pieces: Iterable[bytes] | None = None
    hangs: bool = False


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(status, json.dumps(value).encode(), headers or {})


DROP = Response(status=0)
"""Close the connection without an answer."""
HANG = Response(status=0)
"""Send nothing until the client closes the connection or the server stops."""
STALL = Response(status=0)
"""Send half of a body that no buffer holds, so that the client must be reading it, then nothing, as HANG does."""
TRICKLE = Response(status=0)
"""Announce a long body and send a blank every few milliseconds, until the server stops."""

Answer = Callable[[Request], Response]


class HttpServer:
    """Answers each request with the next entry of `script`; the last entry stays in force.

    Use it as a context manager, or call `start` and `stop`.
    """

    def __init__(self, *script: Response | Answer, tls: ssl.SSLContext | None = None) -> None:
        self.script: list[Response | Answer] = list(script) or [Response()]
        self.requests: list[Request] = []
        self.stopping = threading.Event()
        self.stalled = threading.Event()
        self._closed = 0
        self._changed = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"owner": self}))
        self._server.daemon_threads = True
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Idempotent; returns when the port is closed."""
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def received(self, count: int, *, within: float = WAIT_SECONDS) -> list[Request]:
        """The first `count` requests; waits for them."""
        return self._first(self.requests, count, within)

    def saw_close(self, count: int, *, within: float = WAIT_SECONDS) -> None:
        """Wait until clients have closed `count` connections."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._closed >= count, within):
                raise AssertionError(f"{self._closed} of {count} connections closed within {within:.0f} s")

    def note_close(self) -> None:
        with self._changed:
            self._closed += 1
            self._changed.notify_all()

    def _first(self, requests: list[Request], count: int, within: float) -> list[Request]:
        with self._changed:
            if not self._changed.wait_for(lambda: len(requests) >= count, within):
                raise AssertionError(f"{len(requests)} of {count} requests within {within:.0f} s: {requests}")
            return requests[:count]

    def respond(self, request: Request) -> Response:
        """Record the request, then choose its answer."""
        with self._changed:
            self.requests.append(request)
            step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
            self._changed.notify_all()
        return step if isinstance(step, Response) else step(request)


class _Handler(BaseHTTPRequestHandler):
    owner: HttpServer
    raw_requestline: bytes
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes; the second would wait for a delayed ACK

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:  # the client closed the connection
            self.close_connection = True
            self.owner.note_close()
        else:
            if not self.raw_requestline:  # the client closed it instead of sending another request
                self.owner.note_close()

    def log_message(self, *_: object) -> None:
        """Tests read `requests` instead."""

    def _serve(self) -> None:
        url = urlsplit(self.path)
        response = self.owner.respond(
            Request(
                self.command,
                url.path,
                {name.lower(): value for name, value in self.headers.items()},
                self.rfile.read(int(self.headers.get("content-length") or 0)),
                dict(parse_qsl(url.query)),
                url.query,
            )
        )
        if response is HANG:
            self._hang()
        if response is STALL:
            self._stall()
        if response is TRICKLE:
            self._trickle()
        if response in (DROP, HANG, STALL, TRICKLE):
            self.close_connection = True
            return
        if response.raw is not None:
            self.close_connection = True
            self.wfile.write(response.raw)
        elif response.pieces is not None:
            self._stream(response, response.pieces)
        else:
            self._send(response)

    def _send(self, response: Response) -> None:
        length = len(response.body) if response.declared is None else response.declared
        headers = {"content-type": "application/json", "content-length": str(length)}
        self.send_response(response.status)
        for name, value in (headers | {name.lower(): value for name, value in response.headers.items()}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.body)
        self.close_connection = self.close_connection or response.declared is not None

    def _stream(self, response: Response, pieces: Iterable[bytes]) -> None:
        self.send_response(response.status)
        for name, value in ({"transfer-encoding": "chunked"} | dict(response.headers)).items():
            self.send_header(name, value)
        self.end_headers()
        for piece in filter(None, pieces):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if response.hangs:
            self._hang()
        self.wfile.write(b"0\r\n\r\n")

    def _hang(self) -> None:
        """Wait for the server to stop. Raises OSError when the client closes the connection."""
        self.connection.settimeout(0.02)
        while not self.owner.stopping.is_set():
            try:
                if not self.connection.recv(1024):
                    raise ConnectionAbortedError
            except TimeoutError:
                continue

    def _stall(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
        self.send_response(200)
        self.send_header("content-length", "15000000")
        self.end_headers()
        self.wfile.write(b" " * 10_000_000)
        self.owner.stalled.set()
        self._hang()

    def _trickle(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "1000000")
        self.end_headers()
        while not self.owner.stopping.wait(0.02):
            self.wfile.write(b" ")
            self.wfile.flush()

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815  # the names that http.server looks for
