"""A client of the Agent Client Protocol: JSON-RPC lines to an agent's stdin and from its stdout."""

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self

Json = dict[str, Any]
SECONDS = 60.0
_CAPABILITIES = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}


class AcpError(Exception):
    """The agent answered a request with an error."""


class AcpClient:
    """One agent process. Answers each permission request with the option of kind `permit`. Use it in a `with`."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, permit: str = "reject_once"):
        self.permit = permit
        self.updates: list[Json] = []
        self.asked: list[Json] = []
        self._waiting: dict[int, Future[Json]] = {}
        self._write_lock = threading.Lock()
        self._process = subprocess.Popen(
            command, env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        self.call("initialize", protocolVersion=1, clientCapabilities=_CAPABILITIES)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(10)
        self._process.stdout.close()

    def send(self, method: str, **params: Any) -> "Future[Json]":
        """Send a request; its result comes later."""
        number = len(self._waiting)
        answer = self._waiting[number] = Future()
        self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return answer

    def call(self, method: str, **params: Any) -> Json:
        """Send a request and wait for its result. Raises AcpError."""
        return self.send(method, **params).result(SECONDS)

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    @property
    def reply(self) -> str:
        """What the agent has said so far."""
        chunks = (update for update in self.updates if update.get("sessionUpdate") == "agent_message_chunk")
        return "".join(str(chunk["content"].get("text", "")) for chunk in chunks)

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if message.get("method") == "session/update":
                self.updates.append(message["params"]["update"])
            elif message.get("method") == "session/request_permission":
                self._write({"jsonrpc": "2.0", "id": message["id"], "result": {"outcome": self._choose(message)}})
            elif "method" not in message:
                self._settle(message)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(AcpError("the agent ended"))

    def _choose(self, message: Json) -> Json:
        self.asked.append(message["params"])
        # By kind: each agent has ids of its own for the options.
        option = next((each for each in message["params"]["options"] if each["kind"] == self.permit), None)
        return {"outcome": "selected", "optionId": option["optionId"]} if option else {"outcome": "cancelled"}

    def _settle(self, message: Json) -> None:
        answer = self._waiting[message["id"]]
        if "error" in message:
            answer.set_exception(AcpError(json.dumps(message["error"])))
        else:
            answer.set_result(message.get("result") or {})

    def _write(self, message: Json) -> None:
        assert self._process.stdin
        with self._write_lock:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
