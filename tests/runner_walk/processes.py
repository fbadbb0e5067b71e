"""Agents as processes of a machine in memory: they speak ACP, outlive a killed runner, and keep Claude Code's files."""

import asyncio
import json
import os
import random
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from handoff_cli.readers.claude_code.find import folder_name
from handoff_cli.runner.machine.locks import Lock
from handoff_cli.runner.machine.sessions import HandedOver
from handoff_cli.runner.prompts import GO_ON, INTERRUPTED

Json = dict[str, Any]
MODELS = ("opus", "haiku")
MODES = {"currentModeId": "default", "availableModes": [{"id": "default", "name": "Ask"}]}


class NativeSessions:
    """The files of the agent's sessions, and what was said in each."""

    def __init__(self, home: Path, directory: Path) -> None:
        self._folder = home / ".claude" / "projects" / folder_name(directory)
        self._folder.mkdir(parents=True)
        self.records: dict[str, list[tuple[str, str]]] = {}

    def write(self, native_id: str, role: str, text: str) -> None:
        known = self.records.setdefault(native_id, [])
        content: Any = text if role == "user" else [{"type": "text", "text": text}]
        parent = f"{native_id}-{len(known) - 1}" if known else None
        record = {"type": role, "uuid": f"{native_id}-{len(known)}", "parentUuid": parent}
        with (self._folder / f"{native_id}.jsonl").open("a") as file:
            file.write(json.dumps({**record, "message": {"role": role, "content": content}}) + "\n")
        known.append((role, text))


class Kernel:
    """All agent processes of the machine, those of killed runners too."""

    def __init__(self, seed: random.Random, sessions: NativeSessions) -> None:
        self.random, self.sessions = seed, sessions
        self.broken: list[str] = []
        """What must hold and does not."""
        self.all: list[AgentProcess] = []
        self.calm = False
        self.send: Callable[[str], Awaitable[None]] = _nowhere
        """Has a file sent, as the tool of an agent does, and waits for what becomes of it."""
        self.steers = seed.random() < 0.5
        """Whether its agents take words while they answer."""

    @property
    def live(self) -> "list[AgentProcess]":
        return [process for process in self.all if process.exit_code is None]

    def close_files(self, state: Path) -> None:
        """A process has died: its locks are free, unless an agent inherited them."""
        inherited = {process.lock for process in self.live}
        for entry in list(Path("/proc/self/fd").iterdir()):
            if entry.resolve().parent == state / "locks" and int(entry.name) not in inherited:
                os.close(int(entry.name))

    def end_orphan(self, lock: Lock, _: float) -> bool:
        found = [process for process in self.live if process.pid == lock.holder().get("pid")]
        for process in found:
            process.exit(-15)
        return bool(found)


async def _nowhere(_: str) -> None:
    """There is no runner yet."""


class _Input:
    """The writing end of an agent's input."""

    def __init__(self, process: "AgentProcess") -> None:
        self._process = process

    def write(self, data: bytes) -> None:
        if self._process.exit_code is not None:
            raise BrokenPipeError
        self._process.receive(json.loads(data))

    async def drain(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        """The end of its input ends it soon, unless it hangs."""
        self._process.end_of_input()


class AgentProcess:
    """One process, with a duplicate of the lock that it inherits."""

    def __init__(self, kernel: Kernel, lock: int, is_dead: Callable[[], bool]) -> None:
        self._kernel, self.lock, self._is_dead = kernel, os.dup(lock), is_dead
        self.pid = 10_000_000 + len(kernel.all)
        self.reader, self.writer = asyncio.StreamReader(), _Input(self)
        self.exit_code: int | None = None
        self.native_id = ""
        self.memory = ""
        self.model = MODELS[0]
        self._known = 0
        self._exited = asyncio.Event()
        self._cancelled = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_prompted = False
        kernel.all.append(self)

    def note(self, lock: Lock, session: HandedOver) -> None:
        if not self._is_dead():
            lock.note(pid=self.pid, started="now", agent=session.agent, session=session.session_id)

    async def wait(self) -> int:
        await self._exited.wait()
        return self.exit_code or 0

    async def stop(self, **_: float) -> None:
        """A runner that was killed stops nothing any more."""
        if not self._is_dead():
            self.end_of_input()
            await asyncio.sleep(self._kernel.random.choice((0.05, 2.0)))
            self.exit(-15)

    def end_of_input(self) -> None:
        if not self._is_dead() or self._kernel.random.random() < 0.7:
            asyncio.get_running_loop().call_later(0.06, self.exit, 0)

    def exit(self, code: int) -> None:
        if self.exit_code is None:
            self.exit_code = code
            os.close(self.lock)
            self.reader.feed_eof()
            self._exited.set()
            for task in self._tasks:
                task.cancel()

    def receive(self, message: Json) -> None:
        task = asyncio.get_running_loop().create_task(self._handle(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _send(self, **message: Any) -> None:
        if self.exit_code is None:
            self.reader.feed_data(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _say(self, text: str) -> None:
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        self._send(method="session/update", params={"sessionId": self.native_id, "update": update})

    async def _handle(self, message: Json) -> None:
        method, params = message.get("method"), message.get("params") or {}
        result: Json = {}
        if method == "initialize":
            await asyncio.sleep(0.3)
            capabilities = {"loadSession": True, "sessionCapabilities": {"resume": {}}}
            steering = {"supported": self._kernel.steers}
            result = {"protocolVersion": 1, "agentCapabilities": capabilities, "_meta": {"steering": steering}}
        elif method == "session/resume":
            self._open(params["sessionId"])
            await asyncio.sleep(0.4)
            result = {"modes": MODES, "configOptions": self._options()}
        elif method == "session/set_config_option":
            await asyncio.sleep(0.05)
            self.model = params["value"]
            result = {"configOptions": self._options()}
        elif method == "session/prompt":
            result = {"stopReason": await self._prompt(params["prompt"][0]["text"])}
        elif method == "_session/steering":
            result = {"outcome": await self._steer(params["prompt"][0]["text"])}
        elif method == "session/cancel":
            self._cancelled.set()
        if "id" in message:
            self._send(id=message["id"], result=result)

    def _options(self) -> list[Json]:
        """They are forgotten with the process, as both real agents forget them."""
        options = [{"value": model, "name": model.title()} for model in MODELS]
        model = {"id": "m", "name": "Model", "category": "model", "type": "select", "options": options}
        return [{**model, "currentValue": self.model}]

    def _open(self, native_id: str) -> None:
        others = [other for other in self._kernel.live if other is not self and other.native_id == native_id]
        if others:
            self._kernel.broken.append(f"two processes have {native_id} open")
        self.native_id = native_id
        self._known = len(self._kernel.sessions.records.get(native_id, []))

    async def _prompt(self, text: str) -> str:
        sessions, kernel = self._kernel.sessions, self._kernel
        known = sessions.records.setdefault(self.native_id, [])
        if len(known) != self._known:
            kernel.broken.append(f"a process that does not know all of {self.native_id} is prompted")
        words = [part for part in text.split("\n\n") if part.startswith("say ")]
        if INTERRUPTED not in text and GO_ON not in text:
            again = [one for one in words if any(role == "user" and one in said for role, said in known)]
            if again:
                kernel.broken.append(f"{again} twice without a note")
        if any(f" {self.native_id} " not in one for one in words):
            kernel.broken.append(f"{self.native_id} gets words of another session: {words}")
        self._cancelled.clear()
        self.is_prompted = True
        try:
            sessions.write(self.native_id, "user", text)
            self._known = len(known)
            if not kernel.calm and kernel.random.random() < 0.05:
                self.exit(3)
                await asyncio.sleep(1)
            self._say("Working.")
            if kernel.random.random() < 0.3:
                await kernel.send(self.native_id)
            slow = asyncio.ensure_future(self._cancelled.wait())
            done, _ = await asyncio.wait({slow}, timeout=kernel.random.choice((0.0, 0.2, 0.2, 1.0, 3.0, 40.0)))
            slow.cancel()
            if done:
                return "cancelled"
            self._say(" An answer.")
            sessions.write(self.native_id, "assistant", "An answer.")
            self._known = len(known)
            return "end_turn"
        finally:
            self.is_prompted = False

    async def _steer(self, text: str) -> str:
        """Take words while a prompt is answered. It may die before it says so, or say so when nobody waits any more."""
        sessions, kernel = self._kernel.sessions, self._kernel
        if not self.is_prompted:
            return "promptRequired"
        known = sessions.records[self.native_id]
        if any(role == "user" and text in said for role, said in known):
            kernel.broken.append(f"{text} steered again")
        sessions.write(self.native_id, "user", text)
        self._known = len(known)
        if not kernel.calm and kernel.random.random() < 0.1:
            self.exit(3)
        if not kernel.calm and kernel.random.random() < 0.1:
            await asyncio.sleep(15)
        return "injected"


def starter(kernel: Kernel, is_dead: Callable[[], bool]) -> Any:
    async def start(
        command: tuple[str, ...],
        *,
        environ: Mapping[str, str],
        directory: Path,
        lock: int,
    ) -> AgentProcess:
        await asyncio.sleep(0.01)
        return AgentProcess(kernel, lock, is_dead)

    return start
