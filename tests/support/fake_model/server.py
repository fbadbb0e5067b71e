"""A model on loopback for real agents: it follows a script, and remembers what it was sent."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any, Self

from tests.support.fake_model import anthropic, openai_chat, openai_responses
from tests.support.fake_model.script import Answer, Call, Hold, decide
from tests.support.waiting import eventually

_APIS: dict[str, ModuleType] = {
    "/messages": anthropic,
    "/responses": openai_responses,
    "/chat/completions": openai_chat,
}
_LOOK_SECONDS = 0.05
MODELS = {"object": "list", "data": [{"id": "fake-1", "object": "model", "type": "model"}], "models": []}


class FakeModel:
    """Anthropic Messages, OpenAI Responses and Chat Completions at one address. Use it in a `with`."""

    def __init__(self, decide: Callable[[Call], Answer] = decide) -> None:
        self.decide = decide
        self._calls: list[Call] = []
        self._lock = threading.Lock()
        self.going_on = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"owner": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.going_on.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    @property
    def calls(self) -> list[Call]:
        """What the agents asked on behalf of the person, in order."""
        with self._lock:
            return [call for call in self._calls if not call.background]

    @property
    def background(self) -> list[Call]:
        """What the agents asked for themselves."""
        with self._lock:
            return [call for call in self._calls if call.background]

    def asked(self, words: str, *, within: float = 30.0) -> Call:
        """The first call whose last words contain these; waits for it."""

        def look() -> Call | None:
            return next((call for call in self.calls if call.said and words in call.said[-1]), None)

        return eventually(look, within=within, show=lambda: [call.said for call in self.calls])

    def note(self, call: Call) -> int:
        """Remember the call; returns its number."""
        with self._lock:
            self._calls.append(call)
            return len(self._calls)


class _Handler(BaseHTTPRequestHandler):
    owner: FakeModel
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Tests read `calls` instead."""

    def do_HEAD(self) -> None:
        self._json(None)

    def do_GET(self) -> None:
        self._json(MODELS)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        api = next((module for end, module in _APIS.items() if path.endswith(end)), None)
        try:
            if api is None:
                # Counting tokens, and whatever else an agent would like to tell its maker.
                self._json({"input_tokens": 10})
            else:
                self._answer(api, body)
        except ConnectionError:
            self.close_connection = True

    def _answer(self, api: ModuleType, body: dict[str, Any]) -> None:
        call: Call = api.read(body)
        number, answer = self.owner.note(call), self.owner.decide(call)
        model = str(body.get("model") or "fake-1")
        if not body.get("stream"):
            self._json(api.whole(answer, model, number))
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        self._stream(api.stream(answer, model, number), held=answer if isinstance(answer, Hold) else None)

    def _stream(self, events: Iterator[tuple[str, dict[str, Any]]], *, held: Hold | None) -> None:
        for name, data in events:
            text = json.dumps(data)
            self._send((f"event: {name}\n" if name else "") + f"data: {text}\n\n")
            if held and held.text.rstrip() in text and "delta" in text:
                self._hold()
                held = None
        self._send("data: [DONE]\n\n" if not name else "")

    def _hold(self) -> None:
        """Comments keep the connection busy, so that this thread notices when the client is gone."""
        while not self.owner.going_on.wait(_LOOK_SECONDS):
            self._send(": still there\n\n")

    def _send(self, text: str) -> None:
        self.wfile.write(text.encode())
        self.wfile.flush()

    def _json(self, value: Any) -> None:
        raw = b"" if value is None else json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)
