"""Serves a WSGI application on loopback with persistent connections.

moto's server (werkzeug) closes each connection after one response and waits 10 ms for more input.
"""

import io
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler

from local.web_pages import REFUSAL, is_other_page

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class LoopbackServer(ThreadingHTTPServer):
    """One thread per connection; `stop` also closes open connections."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256  # tests of concurrency open many connections at once

    def __init__(self, application: Application) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.application = application
        self.base_environ = {"SCRIPT_NAME": "", "SERVER_NAME": "127.0.0.1", "SERVER_PORT": str(self.server_port)}
        self.accepted = 0  # number of connections since the start
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="aws endpoint", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Idempotent; responses in progress may be cut off."""
        if self._thread.is_alive():
            self.shutdown()
            self._thread.join()
        self.server_close()
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # already closed by the client
                continue

    def process_request(self, request: Any, client_address: Any) -> None:
        self.accepted += 1
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):  # the client disconnected
            super().handle_error(request, client_address)


class _Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body in one packet
    server: LoopbackServer  # has what `get_environ` needs of a WSGIServer
    handle = BaseHTTPRequestHandler.handle  # request after request; WSGIRequestHandler closes the connection after one

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Log nothing."""

    def handle_expect_100(self) -> bool:
        """S3's clients wait a second for this before they send."""
        is_expected = super().handle_expect_100()
        self.wfile.flush()
        return is_expected

    def _answer(self) -> None:
        head: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], *_: Any) -> None:
            head[:] = [status, headers]

        environ = {
            **self.get_environ(),
            "RAW_URI": self.path,
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(self.rfile.read(int(self.headers.get("content-length") or 0))),
            "wsgi.errors": sys.stderr,
        }
        try:
            if is_other_page(self.headers.get):
                body = REFUSAL.encode()
                start_response("403 Forbidden", [("Content-Type", "text/plain")])
            else:
                body = b"".join(self.server.application(environ, start_response))
        except Exception:  # noqa: BLE001 - a defect in moto or in a patch: print it, and answer with an error for SDKs
            traceback.print_exc()
            body = b'{"__type": "InternalServerError", "message": "The local cloud failed; see its traceback."}'
            start_response("500 Internal Server Error", [("Content-Type", "application/x-amz-json-1.0")])
        status, headers = head
        code, _, reason = status.partition(" ")
        self.send_response_only(int(code), reason)
        for name, value in headers:
            if name.lower() not in ("content-length", "connection", "date", "server"):
                self.send_header(name, value)
        announced = next((value for name, value in headers if name.lower() == "content-length"), None)
        is_head = self.command == "HEAD"
        self.send_header("Content-Length", announced if is_head and announced else str(len(body)))
        self.end_headers()
        if not is_head:
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - names of http.server
