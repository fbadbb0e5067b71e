"""An example of your own agent, in one file without dependencies: start it, then point Handoff at it.

    HANDOFF_AGENT_KEY=change-me python3 examples/agent/agent.py
    HANDOFF_AGENT=http HANDOFF_AGENT_URL=http://127.0.0.1:8790/ HANDOFF_AGENT_KEY=change-me make run

Replace `answer`. The rest follows the contract of docs/agents.md: check the signature, keep the deadline, and work once
on a turn that is requested twice.
"""

import hashlib
import hmac
import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FRESH_SECONDS = 300
LARGEST_BODY = 32 * 1024 * 1024
REMEMBERED = 1_000
Answer = Callable[[list[dict[str, Any]], str | None], str]


def answer(messages: list[dict[str, Any]], note: str | None) -> str:
    """The agent's answer. `messages` are in OpenAI's format, which models and frameworks accept unchanged."""
    asked = next((message["content"] for message in reversed(messages) if message["role"] == "user"), "nothing")
    tools = sum(len(message.get("tool_calls", ())) for message in messages)
    aside = f"\n\nI also got a note: {note}" if note else ""
    return f"You said: {asked}\n\nI was given {len(messages)} messages and {tools} tool calls.{aside}"


def is_genuine(key: str, timestamp: str, signature: str, raw: bytes, now: float) -> bool:
    """Whether Handoff sent this request recently. The signature covers the raw bytes, not the parsed JSON."""
    expected = hmac.new(key.encode(), timestamp.encode() + b"." + raw, hashlib.sha256).hexdigest()
    fresh = timestamp.isdigit() and abs(now - int(timestamp)) <= FRESH_SECONDS
    return fresh and hmac.compare_digest(f"sha256={expected}".encode(), signature.encode())


class Turns:
    """Turns by idempotency key: the first request starts the work, a repeat waits for the same result."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._turns: OrderedDict[str, Future[str]] = OrderedDict()
        self._lock = threading.Lock()

    def run(self, key: str, messages: list[dict[str, Any]], note: str | None) -> "Future[str]":
        with self._lock:
            if key in self._turns:
                return self._turns[key]
            turn: Future[str] = Future()
            self._turns[key] = turn
            while len(self._turns) > REMEMBERED:
                self._turns.popitem(last=False)
        threading.Thread(target=self._work, args=(key, turn, messages, note), daemon=True).start()
        return turn

    def _work(self, key: str, turn: "Future[str]", messages: list[dict[str, Any]], note: str | None) -> None:
        try:
            turn.set_result(self._answer(messages, note))
        except Exception as error:  # noqa: BLE001  # an error fails this request, not the server
            with self._lock:
                self._turns.pop(key, None)  # a failure is not cached: the next try may succeed
            turn.set_exception(error)


class Handler(BaseHTTPRequestHandler):
    """Answers a POST with a turn."""

    protocol_version = "HTTP/1.1"
    key: str
    turns: Turns

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        if length > LARGEST_BODY:
            self.close_connection = True
            return self._say(413, {"error": "Too long."})
        raw = self.rfile.read(length)
        timestamp = self.headers.get("x-handoff-timestamp", "")
        if not is_genuine(self.key, timestamp, self.headers.get("x-handoff-signature", ""), raw, time.time()):
            return self._say(401, {"error": "The signature is wrong."})
        request = json.loads(raw)
        turn = self.turns.run(request["idempotency_key"], request["messages"], request["note"])
        try:
            return self._say(200, {"text": turn.result(timeout=max(0.0, request["deadline"] / 1000 - time.time()))})
        except FutureTimeout:
            return self._say(503, {"error": "Still working; retry."}, {"retry-after": "5"})
        except Exception as error:  # noqa: BLE001  # reported to Handoff, which retries
            return self._say(500, {"error": type(error).__name__})

    def _say(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(raw)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Keep messages out of the log."""


def serve(key: str, port: int, answer: Answer) -> ThreadingHTTPServer:
    """The agent, listening on this machine only; port 0 takes a free one."""
    bound = type("BoundHandler", (Handler,), {"key": key, "turns": Turns(answer)})
    return ThreadingHTTPServer(("127.0.0.1", port), bound)


def main() -> None:
    key = os.environ.get("HANDOFF_AGENT_KEY", "")
    if not key:
        raise SystemExit("Set HANDOFF_AGENT_KEY to the key that Handoff signs with.")
    server = serve(key, int(os.environ.get("PORT", "8790")), answer)
    print(f"Agent ready at http://127.0.0.1:{server.server_port}/", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("Agent stopped.")
    finally:
        server.server_close()


if __name__ == "__main__":
    main()
