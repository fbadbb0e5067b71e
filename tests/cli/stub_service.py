"""A service over real HTTP on loopback that keeps the contract, answers as scripted and records every request."""

import json
import re
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.cli.stub_state import TOKEN, Json, Problem, Script, State, now


@dataclass(frozen=True)
class Seen:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Fault:
    """Spoils the next `count` requests that match: an answer of its own, a closed connection, or silence."""

    match: str
    status: int = 0
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    count: int = 1
    drop: bool = False
    drop_after: bool = False
    hang: threading.Event | None = None
    after: int = 0  # leave this many requests alone first


class StubService:
    """Start with `with StubService(script) as stub`; stops on leaving."""

    def __init__(self, script: Script | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.state = State(script or Script())
        self.seen: list[Seen] = []
        self.faults: list[Fault] = []
        self.hanging = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"stub": self}))
        self._server.daemon_threads = True
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._scheme = "https" if tls else "http"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    @property
    def environ(self) -> dict[str, str]:
        return {"HANDOFF_URL": self.url, "HANDOFF_TOKEN": TOKEN}

    def calls(self, method: str, pattern: str) -> list[Seen]:
        return [s for s in self.seen if s.method == method and re.fullmatch(pattern, urlsplit(s.path).path)]

    def fault(self, request: Seen) -> Fault | None:
        for fault in self.faults:
            if (
                fault.count
                and len(self.seen) >= fault.after
                and re.fullmatch(fault.match, f"{request.method} {urlsplit(request.path).path}")
            ):
                fault.count -= 1
                return fault
        return None

    def __enter__(self) -> "StubService":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for fault in self.faults:
            if fault.hang:
                fault.hang.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


Answer = tuple[int, Json]
Route = tuple[str, str, Callable[[State, "re.Match[str]", Json, Seen], Answer]]

ROUTES: list[Route] = [
    ("GET", "/health", lambda _s, _m, _b, _r: (200, {"status": "ok"})),
    ("GET", "/platforms", lambda s, _m, _b, _r: (200, s.platforms())),
    ("PUT", "/platforms/([^/]+)/home", lambda s, m, b, _r: (200, _set_home(s, m[1], b["chat"]))),
    ("PUT", "/sessions/([^/]+)", lambda s, m, b, _r: (201, s.put_session(m[1], b))),
    ("GET", "/sessions", lambda s, _m, _b, _r: (200, {"sessions": list(s.sessions.values())[::-1], "next": None})),
    ("GET", "/sessions/([^/]+)", lambda s, m, _b, _r: (200, s.session(m[1]))),
    ("DELETE", "/sessions/([^/]+)", lambda s, m, _b, _r: (204, s.sessions.pop(s.session(m[1])["id"]))),
    ("GET", "/sessions/([^/]+)/messages", lambda s, m, _b, r: (200, s.messages(m[1], _int(r, "after"), _int(r, "limit")))),
    ("POST", "/sessions/([^/]+)/messages", lambda s, m, b, _r: (200, s.append(m[1], b))),
    ("POST", "/sessions/([^/]+)/turns", lambda s, m, b, _r: (202, s.start_turn(m[1], b))),
    ("POST", "/sessions/([^/]+)/resume", lambda s, m, b, _r: (201 if b.get("fork") else 200, s.resume(m[1], b))),
    ("GET", "/handoffs", lambda s, _m, _b, _r: (200, {"handoffs": list(s.handoffs.values())[::-1], "next": None})),
    ("POST", "/handoffs", lambda s, _m, b, r: (202, s.request_handoff(b, r.headers.get("idempotency-key", "")))),
    ("GET", "/handoffs/([^/]+)", lambda s, m, _b, _r: (200, s.handoff(m[1]))),
    ("DELETE", "/handoffs/([^/]+)", lambda s, m, _b, _r: (200, s.cancel(m[1]))),
    ("GET", "/doctor", lambda s, _m, _b, _r: (200, {"checks": s.script.checks, "now": now()})),
]  # fmt: skip


def _set_home(state: State, platform: str, chat: str) -> Json:
    if platform not in state.homes:
        raise Problem(422, "unknown_platform", f"There is no platform {platform}. Use telegram, slack or discord.")
    state.homes[platform] = chat
    return {"platform": platform, "chat": chat}


def _int(request: Seen, name: str) -> int:
    return int(parse_qs(urlsplit(request.path).query).get(name, ["0"])[0])


class _Handler(BaseHTTPRequestHandler):
    stub: StubService
    protocol_version = "HTTP/1.1"

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Tests read `seen` instead."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Seen(self.command, self.path, headers, body, time.monotonic())
        self.stub.seen.append(request)
        fault = self.stub.fault(request)
        if fault and fault.hang:
            self.stub.hanging.set()
            fault.hang.wait(30)
        if fault and fault.drop_after:
            self._dispatch(request)
        if fault and (fault.drop or fault.drop_after or fault.hang):
            self.close_connection = True
            return
        if fault:
            self._answer(fault.status, fault.body, {"content-type": "application/json", **fault.headers})
            return
        status, value = self._dispatch(request)
        kind = "application/problem+json" if status >= 400 else "application/json"
        self._answer(status, b"" if status == 204 else json.dumps(value).encode(), {"content-type": kind})

    def _dispatch(self, request: Seen) -> Answer:
        path = urlsplit(request.path).path
        try:
            if path != "/health" and request.headers.get("authorization") != f"Bearer {TOKEN}":
                raise Problem(401, "unauthenticated", "This token is not known.")  # noqa: TRY301 - one exit
            if len(request.body) > 1024 * 1024:
                raise Problem(413, "body_too_large", "The body is over 1 MiB.")  # noqa: TRY301 - one exit
            for method, pattern, answer in ROUTES:
                if method == request.method and (match := re.fullmatch(pattern, path)):
                    with self.stub.state.lock:
                        return answer(self.stub.state, match, request.json if request.body else {}, request)
            raise Problem(404, "not_found", "There is nothing here.")  # noqa: TRY301 - one exit
        except Problem as problem:
            return problem.status, problem.body

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815 - the names that http.server looks for
