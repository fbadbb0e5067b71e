"""A server that answers each method of a bot's API as a test tells it to, for what the simulator never shows."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answers = Mapping[str, Any]


@contextmanager
def scripted(answers: Answers, headers: Mapping[str, str] | None = None) -> Iterator[str]:
    """Answers by the last part of the path; what is not in the script is a 404. Yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found = answers.get(self.path.rpartition("/")[2])
            raw = json.dumps({"ok": False, "error_code": 404} if found is None else found).encode()
            self.send_response(404 if found is None else 200)
            for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST  # noqa: N815  # the name is http.server's

        def log_message(self, *_: object) -> None:
            """Nothing: the test says what it expects."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
