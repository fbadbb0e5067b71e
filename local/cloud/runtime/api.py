"""Lambda's Runtime API for one process, identified by the port: next event, response, error, init error."""

import json
import os
import select
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from local.web_pages import REFUSAL, is_other_page

_PREFIX = "/2018-06-01/runtime/"
CONNECTIONS = Path("/proc/net/tcp")


class Event(NamedTuple):
    """One event as a process receives it."""

    id: str
    body: bytes
    deadline_ms: int
    function_arn: str


class Runtime(Protocol):
    """Receives the calls of one process. `next_event` blocks; None means that there will be no more events."""

    def next_event(self, *, alive: Callable[[], bool]) -> Event | None: ...

    def answered(self, event_id: str, body: bytes) -> bool: ...

    def raised(self, event_id: str, error: Mapping[str, Any]) -> bool: ...

    def init_failed(self, error: Mapping[str, Any]) -> None: ...


class RuntimeApi:
    """Listens on a free loopback port until `close`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._closed = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "{}:{}".format(*self._listener.getsockname())
        threading.Thread(target=self._accept, name=f"runtime api {self.address}", daemon=True).start()

    def close(self) -> None:
        self._closed = True
        with suppress(OSError), socket.create_connection(self._listener.getsockname(), timeout=1):
            pass  # wakes `accept`, which closing the listener does not do on every system

    def _accept(self) -> None:
        with self._listener:
            while not self._closed:
                connection, peer = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection, peer), daemon=True).start()

    def _serve(self, connection: socket.socket, peer: tuple[str, int]) -> None:
        with connection, suppress(OSError):  # the process may exit at any time
            if not is_this_user(connection):
                return  # events hold tokens: another user of this machine must not take them
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _Connection(self._runtime, connection, peer)


class _Connection(BaseHTTPRequestHandler):
    """The HTTP of one connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # one packet per response: unbuffered, each header line would wait for an acknowledgement

    def __init__(self, runtime: Runtime, connection: socket.socket, peer: tuple[str, int]) -> None:
        self.runtime = runtime
        super().__init__(connection, peer, None)  # type: ignore[arg-type]  # the server is not used

    def do_GET(self) -> None:
        if is_other_page(self.headers.get):
            return self._answer(403, json.dumps({"errorMessage": REFUSAL}).encode())
        if self.path != _PREFIX + "invocation/next":
            return self._answer(404)
        event = self.runtime.next_event(alive=self._alive)
        if event is None:
            self.close_connection = True
            return None
        headers = {
            "Lambda-Runtime-Aws-Request-Id": event.id,
            "Lambda-Runtime-Deadline-Ms": str(event.deadline_ms),
            "Lambda-Runtime-Invoked-Function-Arn": event.function_arn,
        }
        return self._answer(200, event.body, headers)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if is_other_page(self.headers.get):
            return self._answer(403, json.dumps({"errorMessage": REFUSAL}).encode())
        match self.path.removeprefix(_PREFIX).split("/"):
            case ["invocation", event_id, "response"]:
                known = self.runtime.answered(event_id, body)
            case ["invocation", event_id, "error"]:
                known = self.runtime.raised(event_id, _error(body))
            case ["init", "error"]:
                self.runtime.init_failed(_error(body))
                known = True
            case _:
                return self._answer(404)
        return (
            self._answer(202, b'{"status":"OK"}') if known else self._answer(400, b'{"errorType":"InvalidRequestID"}')
        )

    def _alive(self) -> bool:
        """Whether the process still has the connection open: a killed one must not take an event."""
        poll = select.poll()  # select() refuses descriptors above 1023, and a run has many connections
        poll.register(self.connection, select.POLLIN)
        return not poll.poll(0) or bool(self.connection.recv(1, socket.MSG_PEEK))

    def _answer(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        self.send_response_only(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Log nothing."""


def _error(body: bytes) -> Mapping[str, Any]:
    try:
        error = json.loads(body)
    except ValueError:
        error = None
    return (
        error
        if isinstance(error, dict)
        else {"errorType": "Runtime.Unknown", "errorMessage": body.decode(errors="replace")}
    )


def is_this_user(connection: socket.socket) -> bool:
    """Whether the other end belongs to the user of this process. True where the system does not tell (not Linux)."""
    if not CONNECTIONS.exists():
        return True
    theirs, ours = (_written(address) for address in (connection.getpeername(), connection.getsockname()))
    for line in CONNECTIONS.read_text().splitlines()[1:]:
        _, local, remote, _, _, _, _, uid, *_ = line.split()
        if (local, remote) == (theirs, ours):
            return int(uid) == os.getuid()
    return False


def _written(address: tuple[str, int]) -> str:
    """An address as the kernel prints it: the IP in the byte order of the machine."""
    host, port = address
    (number,) = struct.unpack("=I", socket.inet_aton(host))
    return f"{number:08X}:{port:04X}"
