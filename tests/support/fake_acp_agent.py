"""An agent that speaks ACP on stdio and does what the prompt tells it; started as a program.

It keeps its sessions in the files of Claude Code, so that the reader of that agent can read them. The last line of a
prompt that begins with `do:` chooses what it does; see `_do_…`. Everything else is answered with its own words.
It writes the JSON of the protocol itself: the library, with which the runner checks it, takes half a second to import.
"""

import asyncio
import json
import os
import signal
import sys
import time
import traceback
import uuid
from pathlib import Path
from typing import Any

from handoff_cli.readers.claude_code.find import folder_name

Json = dict[str, Any]

MODES = {
    "currentModeId": "auto",
    "availableModes": [{"id": "default", "name": "Ask"}, {"id": "auto", "name": "Auto"}],
}
OPTIONS = [
    {"optionId": "yes-7", "kind": "allow_once", "name": "Yes"},
    {"optionId": "ever-7", "kind": "allow_always", "name": "Always"},
    {"optionId": "no-7", "kind": "reject_once", "name": "No"},
]


CHOICES = {
    "model": ("model", ["opus", "haiku"]),
    "mode": ("mode", ["auto", "default", "plan"]),
    "effort": ("thought_level", ["low", "high"]),
}
"""The options of a session with their categories; the first value is what it has after it was opened."""


class Refused(Exception):
    """The answer to a request is this error."""


class Lines:
    """JSON-RPC, one message per line. Requests are handled at the same time; the end of the input ends the program."""

    def __init__(self, agent: "FakeAgent") -> None:
        self._agent = agent
        self._asked: dict[int, asyncio.Future[Json]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.stays = False

    async def run(self) -> None:
        reader = asyncio.StreamReader(limit=2**26)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            message = json.loads(line)
            if "method" in message:
                task = asyncio.create_task(self._handle(message))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            else:
                self._asked.pop(message["id"]).set_result(message.get("result") or {})
        if self.stays:
            await asyncio.Event().wait()

    async def _handle(self, message: Json) -> None:
        try:
            method = getattr(self._agent, message["method"].replace("/", "_"))
            answer: Json = {"result": await method(message.get("params") or {})}
        except Refused as refused:
            answer = {"error": dict(zip(("code", "message", "data"), refused.args, strict=True))}
        except Exception:  # noqa: BLE001 - a mistake in here must not hang the test
            traceback.print_exc()
            os._exit(70)
        if "id" in message:
            self._send({"id": message["id"], **answer})

    def notify(self, method: str, params: Json) -> None:
        self._send({"method": method, "params": params})

    async def ask(self, method: str, params: Json) -> Json:
        number = len(self._asked) + 1
        self._asked[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        return await self._asked[number]

    def _send(self, message: Json) -> None:
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        sys.stdout.buffer.flush()


class FakeAgent:
    """One process; its log (`FAKE_ACP_LOG`) has a line for each thing that tests look for."""

    def __init__(self) -> None:
        self.lines = Lines(self)
        self._cancelled = asyncio.Event()
        self._directory = Path.cwd()
        self._session = ""
        self._text = ""
        self._is_stuck = False
        self._next = ""
        self._chosen: dict[str, str] = {}
        self._is_busy = False
        self._steered: list[str] = []

    async def initialize(self, params: Json) -> Json:
        _log("forms", str("form" in (params.get("clientCapabilities", {}).get("elicitation") or {})))
        resume: Json = {} if os.environ.get("FAKE_ACP_LOADS") else {"resume": {}}
        return {
            "protocolVersion": int(os.environ.get("FAKE_ACP_PROTOCOL") or params["protocolVersion"]),
            "agentCapabilities": {"loadSession": True, "sessionCapabilities": resume},
            **({"_meta": {"steering": {"supported": True}}} if os.environ.get("FAKE_ACP_STEERS") else {}),
        }

    async def session_new(self, params: Json) -> Json:
        self._open({**params, "sessionId": str(uuid.uuid4())}, "new")
        return {"sessionId": self._session, "modes": MODES, "configOptions": self._options()}

    async def session_resume(self, params: Json) -> Json:
        self._open(params, "resume")
        return {"modes": MODES, "configOptions": self._options()}

    async def session_set_config_option(self, params: Json) -> Json:
        """Chosen values are forgotten with the process, as real agents do."""
        name, value = params["configId"], params["value"]
        if value not in CHOICES.get(name, ("", []))[1]:
            raise Refused(-32602, "Invalid params", {})
        _log("set", f"{name}={value}")
        self._chosen[name] = value
        return {"configOptions": self._options()}

    def _options(self) -> list[Json]:
        return [
            {
                "id": name,
                "name": name,
                "category": category,
                "type": "select",
                "currentValue": self._chosen.get(name, values[0]),
                "options": [{"value": value, "name": value.title(), "description": ""} for value in values],
            }
            for name, (category, values) in CHOICES.items()
        ]

    def _spent(self) -> Json:
        """What a prompt has cost, if that is wanted; the sum is that of the session, whichever process ran it."""
        if not (price := os.environ.get("FAKE_ACP_COST")):
            return {}
        bill = self._file.with_suffix(".cost")
        cost = float(price) + (float(bill.read_text()) if bill.exists() else 0.0)
        bill.write_text(str(cost))
        self._update("usage_update", used=20_000, size=200_000, cost={"amount": cost, "currency": "USD"})
        return {"usage": {"totalTokens": 100, "inputTokens": 60, "outputTokens": 40}}

    async def session_load(self, params: Json) -> Json:
        self._open(params, "load")
        for line in self._file.read_text().splitlines() if self._file.exists() else []:
            text = json.loads(line)["message"]["content"]
            await self._say(text if isinstance(text, str) else text[0]["text"])
        return {"modes": MODES}

    async def session_set_mode(self, params: Json) -> Json:
        if self._is_stuck:
            raise Refused(-32603, "Internal error", {})
        _log("mode", params["modeId"])
        if leaves := os.environ.pop("FAKE_ACP_LEAVES", ""):
            name, _, stuck = leaves.partition(" ")
            self._is_stuck = bool(stuck)
            asyncio.get_running_loop().call_soon(self._update_mode, name)
        return {}

    def _update_mode(self, mode: str) -> None:
        self._update("current_mode_update", currentModeId=mode)

    async def session_cancel(self, _: Json) -> None:
        _log("cancel", "")
        self._cancelled.set()

    async def session_prompt(self, params: Json) -> Json:
        text = self._text = params["prompt"][0]["text"]
        _log("prompt", text)
        for block in params["prompt"][1:]:
            _log("block", json.dumps(block, sort_keys=True))
        if commands := os.environ.get("FAKE_ACP_COMMANDS"):
            named = [{"name": name, "description": f"do {name}"} for name in commands.split()]
            self._update("available_commands_update", availableCommands=named)
        if self._next == "ends":
            os._exit(3)
        self._cancelled.clear()
        self._write("user", text)
        if self._next == "fails":
            raise Refused(-32603, "Internal error", {})
        actions = [line.removeprefix("do:").split() for line in text.splitlines() if line.startswith("do:")]
        name, *arguments = actions[-1] if actions else ["echo"]
        self._is_busy = True
        stop = await getattr(self, f"_do_{name}")(*arguments)
        self._is_busy = False
        return {"stopReason": stop or "end_turn", **self._spent()}

    async def _session_steering(self, params: Json) -> Json:
        """Words while it works; `FAKE_ACP_STEERS` may be `late` (it is never at work) or `deaf` (it does not answer)."""
        text, how = params["prompt"][0]["text"], os.environ["FAKE_ACP_STEERS"]
        if how == "late" or not self._is_busy:
            return {"outcome": "promptRequired", "reason": "noRunningTurn"}
        _log("steer", text)
        self._write("user", text)
        self._steered.append(text)
        if how == "deaf":
            raise Refused(-32603, "Internal error", {})
        return {"outcome": "injected"}

    async def _do_echo(self) -> None:
        await self._answer(f"You said: {self._text}")

    async def _do_slow(self) -> str:
        """Work until it is cancelled."""
        await self._say("Working on it.")
        await self._tool("build", status="in_progress")
        await self._cancelled.wait()
        return "cancelled"

    async def _do_until(self, path: str) -> None:
        """Work until a file exists."""
        await self._say("Waiting.")
        while not _exists(path):  # noqa: ASYNC110 - another process makes the file
            await asyncio.sleep(0.01)
        await self._answer(" ".join(["The file is there.", *(f"You added: {text}" for text in self._steered)]))

    async def _do_choose(self, path: str) -> None:
        """Ask with the form in this file, and say what came back."""
        asked = {"sessionId": self._session, "mode": "form", "message": "Please answer.", **json.loads(_read(path))}
        answer = await self.lines.ask("elicitation/create", asked)
        _log("chosen", json.dumps(answer))
        await self._answer(f"Chosen: {json.dumps(answer.get('content'), sort_keys=True)}")

    async def _do_meanwhile(self, path: str, go: str) -> None:
        """Ask with a form, and go on; an answer that comes before the file `go` exists is taken."""
        asked = {"sessionId": self._session, "mode": "form", "message": "Please answer.", **json.loads(_read(path))}
        asking = asyncio.create_task(self.lines.ask("elicitation/create", asked))
        asking.add_done_callback(lambda done: _log("chosen", json.dumps(done.result())))
        while not _exists(go):  # noqa: ASYNC110 - another process makes the file
            await asyncio.sleep(0.01)
        if asking.done() and (content := asking.result().get("content")):
            self._write("user", f"To your question “Which colour?”: {content['question_0']}")
        await self._answer("I went on.")

    async def _do_plan(self, size: str, said: str = "") -> str | None:
        """Ask to carry out a plan; with `said` after the size, say it before and end the answer by itself, as Codex does."""
        plan = "# Plan\n" + "\n".join(f"- step {number}" for number in range(int(size)))
        if said:
            await self._say(plan)
        kinds = ("allow_once", "allow_always", "allow_always", "reject_once")
        options = [{"optionId": f"o{at}", "kind": kind, "name": f"Option {at}"} for at, kind in enumerate(kinds)]
        call = {"toolCallId": "c1", "title": "Approve Plan", "kind": "switch_mode", "rawInput": {"plan": plan}}
        asked = {"sessionId": self._session, "toolCall": call, "options": options}
        answer = await self.lines.ask("session/request_permission", asked)
        chosen = answer["outcome"].get("optionId", "cancelled")
        _log("chosen", chosen)
        if chosen == "o3":
            return None if said else "cancelled"
        await self._answer("I begin.")
        return None

    async def _do_deaf(self) -> None:
        """Ignore cancelling, terminating and the end of its input."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _log("deaf", "")
        while True:
            time.sleep(1)  # noqa: ASYNC251 - it must not hear anything

    async def _do_crash(self, when: str) -> None:
        """End the process before, during or after the answer."""
        if when != "before":
            await self._say("Half of an ")
        if when == "after":
            await self._answer("answer.")
        await asyncio.sleep(0)
        os._exit(3)

    async def _do_once(self, marker: str) -> None:
        """Work without an end the first time, answer the second time."""
        if _exists(marker):
            await self._answer("Done, the second time.")
            return
        _log("began", "")
        _touch(marker)
        await self._tool("step", status="in_progress")
        await asyncio.Event().wait()

    async def _do_permit(self, how: str = "whole") -> str | None:
        """Ask for permission, then say what was chosen. The arguments are in the request, in its step, or nowhere."""
        call: Json = {"toolCallId": "c1"}
        if how == "whole":
            call |= {"title": "rm -r build", "kind": "execute", "rawInput": {"command": "rm -r build"}}
        elif how == "step":
            given = {"server": "files", "arguments": {"path": "/etc"}}
            self._update("tool_call", toolCallId="c1", title="mcp.files.read", status="pending", rawInput=given)
        asked = {"sessionId": self._session, "toolCall": call, "options": OPTIONS}
        answer = await self.lines.ask("session/request_permission", asked)
        chosen = answer["outcome"].get("optionId", "cancelled")
        _log("chosen", chosen)
        if chosen == "cancelled":
            return "cancelled"
        await self._answer(f"You chose {chosen}.")
        return None

    async def _do_run(self, path: str) -> str | None:
        """Ask for the tool call in this file, and do its step if that is allowed; the file names what is done."""
        wanted = json.loads(_read(path))
        call = {"toolCallId": "c1", **wanted["call"]}
        asked = {"sessionId": self._session, "toolCall": call, "options": OPTIONS}
        answer = await self.lines.ask("session/request_permission", asked)
        if answer["outcome"].get("optionId") in {"yes-7", "ever-7"}:
            _log("ran", wanted["step"])
        await self._answer("That was it.")
        return None

    async def _do_updates(self, path: str) -> None:
        """Send the updates in this file, then answer."""
        for update in json.loads(_read(path)):
            self._update(update.pop("sessionUpdate"), **update)
        await self._answer("That was it.")

    async def _do_mode(self, mode: str, how: str = "mode") -> str | None:
        """Change its mode by itself, and announce it in one of two ways; `stuck`: it cannot be set back."""
        self._is_stuck = how == "stuck"
        if how == "options":
            option = {
                "id": "m",
                "name": "Mode",
                "category": "mode",
                "type": "select",
                "currentValue": mode,
                "options": [],
            }
            self._update("config_option_update", configOptions=[option])
        else:
            self._update("current_mode_update", currentModeId=mode)
        if self._is_stuck:
            await self._cancelled.wait()
            return "cancelled"
        await self._answer("Done.")
        return None

    async def _do_tools(self, count: str, size: str) -> None:
        """Call many tools with much output."""
        for number in range(int(count)):
            await self._tool(f"step {number}", call=f"c{number}", status="in_progress", path=f"/src/{number % 7}.py")
            await self._tool("", call=f"c{number}", status="completed", output="x" * int(size))
        await self._answer("All done.")

    async def _do_secret(self) -> None:
        await self._tool("cat .env", status="completed", output="AWS_KEY=AKIAABCDEFGHIJKLMNOP\n" + "y" * 9000)
        await self._answer("Read it.")

    async def _do_garbage(self) -> None:
        """Print what is not the protocol, then answer."""
        for line in (b"Warning: update available\n", b"[1, 2]\n", b"7\n", b"{broken\n", b"\xff\xfe\n", b"\n"):
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        self.lines.notify("_unknown/thing", {"a": 1})
        await self._answer("Fine.")

    async def _do_silent(self) -> None:
        await self._tool("ls", status="completed", output="a\nb")

    async def _do_child(self) -> None:
        """Leave a process behind."""
        child = await asyncio.create_subprocess_exec("sleep", "600")
        _log("child", str(child.pid))
        await self._answer("Started.")

    async def _do_last(self, what: str) -> None:
        """Answer, but not the next prompt: its process ends, or it takes the words and fails."""
        self._next = what
        await self._answer("The last one.")

    async def _do_stay(self) -> None:
        """Answer, and go on when the runner is gone."""
        self.lines.stays = True
        await self._answer("I stay.")

    async def _do_afterwards(self, what: str, seconds: str) -> None:
        """Answer, and some time later `say` something, or `ask` for permission."""
        await self._answer("Until later.")
        self._later = asyncio.create_task(self._work_later(what, float(seconds)))

    async def _work_later(self, what: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        _log("later", what)
        if what == "say":
            await self._say("The background task is done.")
        else:
            await self._do_permit()

    async def _do_environment(self) -> None:
        await self._answer(json.dumps({name: value for name, value in os.environ.items() if "HANDOFF" in name}))

    async def _do_send(self, path: str, *caption: str) -> None:
        """Call the tool `send_to_chat` of the server that it was given, and say what came back."""
        answer = await self._call_tool("send_to_chat", {"path": path, "caption": " ".join(caption)})
        [block] = answer["content"]
        await self._answer(f"{'Error' if answer.get('isError') else 'Told'}: {block['text']}")

    async def _call_tool(self, name: str, arguments: Json) -> Json:
        """A server is told nothing of this process but what the session was opened with."""
        server = self._servers[0]
        environ = {one["name"]: one["value"] for one in server["env"]}
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            server["command"], *server["args"], env=environ, cwd=self._directory, stdin=pipe, stdout=pipe
        )
        assert process.stdin
        assert process.stdout
        answer: Json = {}
        asked = [
            ("server/discover", {}),
            ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}),
            ("tools/list", {}),
            ("tools/call", {"name": name, "arguments": arguments}),
        ]
        for number, (method, params) in enumerate(asked):
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(request).encode() + b"\n")
            answer = json.loads(await process.stdout.readline())
            _log("mcp", json.dumps(answer))
        process.stdin.close()
        await process.wait()
        result: Json = answer["result"]
        return result

    def _open(self, params: Json, how: str) -> None:
        self._servers = params.get("mcpServers") or []
        _log("servers", json.dumps([server["name"] for server in self._servers]))
        _log("meta", json.dumps(params.get("_meta")))
        self._session, self._directory = params["sessionId"], Path(params["cwd"])
        _log(how, self._session)
        _log("pid", str(os.getpid()))
        if error := os.environ.get("FAKE_ACP_BUSY"):
            left = Path(error)
            if left.exists() and (count := int(left.read_text())):
                left.write_text(str(count - 1))
                raise Refused(-32600, "Invalid request", {"reason": "thread_active_writer"})

    async def _answer(self, text: str) -> None:
        await self._say(text)
        self._write("assistant", text)

    async def _say(self, text: str) -> None:
        self._update("agent_message_chunk", content={"type": "text", "text": text})

    async def _tool(
        self, title: str, *, call: str = "c1", status: str = "", output: str = "", path: str = "/src/a.py"
    ) -> None:
        shown: Json = {"content": [{"type": "content", "content": {"type": "text", "text": output}}]} if output else {}
        if title:
            shown |= {"title": title, "kind": "edit", "locations": [{"path": path}], "rawInput": {"path": path}}
        self._update("tool_call" if title else "tool_call_update", toolCallId=call, status=status, **shown)

    def _update(self, kind: str, /, **fields: Any) -> None:
        update = {"sessionUpdate": kind, **fields}
        self.lines.notify("session/update", {"sessionId": self._session, "update": update})

    @property
    def _file(self) -> Path:
        root = Path(os.environ["HOME"]) / ".claude" / "projects"
        return root / folder_name(self._directory) / f"{self._session}.jsonl"

    def _write(self, role: str, text: str) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        content: Any = text if role == "user" else [{"type": "text", "text": text}]
        record = {
            "type": role,
            "uuid": uuid.uuid4().hex,
            "parentUuid": _last_uuid(self._file),
            "cwd": str(self._directory),
            "message": {
                "role": role,
                "content": content,
                **({"stop_reason": "end_turn"} if role == "assistant" else {}),
            },
        }
        with self._file.open("a") as file:
            file.write(json.dumps(record) + "\n")


def _exists(path: str) -> bool:
    return Path(path).exists()


def _read(path: str) -> str:
    return Path(path).read_text()


def _touch(path: str) -> None:
    Path(path).touch()


def _last_uuid(path: Path) -> str | None:
    lines = path.read_text().splitlines() if path.exists() else []
    return str(json.loads(lines[-1])["uuid"]) if lines else None


def _log(what: str, text: str) -> None:
    with Path(os.environ["FAKE_ACP_LOG"]).open("a") as file:
        file.write(json.dumps([what, text]) + "\n")


if __name__ == "__main__":
    asyncio.run(FakeAgent().lines.run())
