"""An agent that speaks ACP on stdio and does what the prompt tells it; started as a program.

It keeps its sessions in the files of Claude Code, so that the reader of that agent can read them. The last line of a
prompt that begins with `do:` chooses what it does; see `_ACTIONS`. Everything else is answered with its own words.
"""

import asyncio
import json
import os
import signal
import sys
import time
import uuid
from pathlib import Path
from typing import Any, cast

import acp
from acp import schema

from handoff_cli.readers.claude_code.find import folder_name

MODES = schema.SessionModeState(
    current_mode_id="auto",
    available_modes=[schema.SessionMode(id="default", name="Ask"), schema.SessionMode(id="auto", name="Auto")],
)
OPTIONS = [
    schema.PermissionOption(option_id="yes-7", kind="allow_once", name="Yes"),
    schema.PermissionOption(option_id="ever-7", kind="allow_always", name="Always"),
    schema.PermissionOption(option_id="no-7", kind="reject_once", name="No"),
]


class FakeAgent:
    """One process; its log (`FAKE_ACP_LOG`) has a line for each thing that tests look for."""

    def __init__(self) -> None:
        self._client: Any = None
        self._cancelled = asyncio.Event()
        self._directory = Path.cwd()
        self._session = ""
        self._text = ""

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:
        resume = None if os.environ.get("FAKE_ACP_LOADS") else schema.SessionResumeCapabilities()
        return schema.InitializeResponse(
            protocol_version=int(os.environ.get("FAKE_ACP_PROTOCOL", protocol_version)),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True, session_capabilities=schema.SessionCapabilities(resume=resume)
            ),
        )

    async def resume_session(self, session_id: str, cwd: str, **_: Any) -> schema.ResumeSessionResponse:
        self._open(session_id, cwd, "resume")
        return schema.ResumeSessionResponse(modes=MODES)

    async def load_session(self, session_id: str, cwd: str, **_: Any) -> schema.LoadSessionResponse:
        self._open(session_id, cwd, "load")
        for line in self._file.read_text().splitlines() if self._file.exists() else []:
            text = json.loads(line)["message"]["content"]
            await self._say(text if isinstance(text, str) else text[0]["text"])
        return schema.LoadSessionResponse(modes=MODES)

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> schema.SetSessionModeResponse:  # noqa: ARG002 - the library's names
        _log("mode", mode_id)
        return schema.SetSessionModeResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:  # noqa: ARG002 - the library's names
        _log("cancel", "")
        self._cancelled.set()

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> schema.PromptResponse:  # noqa: ARG002
        text = self._text = prompt[0].text
        _log("prompt", text)
        self._cancelled.clear()
        self._write("user", text)
        actions = [line.removeprefix("do:").split() for line in text.splitlines() if line.startswith("do:")]
        name, *arguments = actions[-1] if actions else ["echo"]
        stop = await getattr(self, f"_do_{name}")(*arguments)
        return schema.PromptResponse(stop_reason=stop or "end_turn")

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
        await self._answer("The file is there.")

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

    async def _do_permit(self) -> str | None:
        """Ask for permission, then say what was chosen."""
        call = schema.ToolCallUpdate(
            tool_call_id="c1", title="rm -r build", kind="execute", raw_input={"command": "rm -r build"}
        )
        answer = await self._client.request_permission(session_id=self._session, tool_call=call, options=OPTIONS)
        chosen = getattr(answer.outcome, "option_id", "cancelled")
        _log("chosen", chosen)
        if chosen == "cancelled":
            return "cancelled"
        await self._answer(f"You chose {chosen}.")
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
        await self._client.ext_notification("unknown/thing", {"a": 1})
        await self._answer("Fine.")

    async def _do_silent(self) -> None:
        await self._tool("ls", status="completed", output="a\nb")

    async def _do_child(self) -> None:
        """Leave a process behind."""
        child = await asyncio.create_subprocess_exec("sleep", "600")
        _log("child", str(child.pid))
        await self._answer("Started.")

    async def _do_environment(self) -> None:
        await self._answer(json.dumps({name: value for name, value in os.environ.items() if "HANDOFF" in name}))

    def _open(self, session_id: str, cwd: str, how: str) -> None:
        self._session, self._directory = session_id, Path(cwd)
        _log(how, session_id)
        _log("pid", str(os.getpid()))
        if error := os.environ.get("FAKE_ACP_BUSY"):
            left = Path(error)
            if left.exists() and (count := int(left.read_text())):
                left.write_text(str(count - 1))
                raise acp.RequestError(-32600, "Invalid request", {"reason": "thread_active_writer"})

    async def _answer(self, text: str) -> None:
        await self._say(text)
        self._write("assistant", text)

    async def _say(self, text: str) -> None:
        await self._client.session_update(self._session, acp.update_agent_message_text(text))

    async def _tool(
        self, title: str, *, call: str = "c1", status: Any = None, output: str = "", path: str = "/src/a.py"
    ) -> None:
        content: list[Any] | None = [acp.tool_content(acp.text_block(output))] if output else None
        locations = [schema.ToolCallLocation(path=path)]
        update: Any = (
            schema.ToolCallStart(
                session_update="tool_call",
                tool_call_id=call,
                title=title,
                kind="edit",
                status=status,
                content=content,
                locations=locations,
                raw_input={"path": path},
            )
            if title
            else schema.ToolCallProgress(
                session_update="tool_call_update", tool_call_id=call, status=status, content=content
            )
        )
        await self._client.session_update(self._session, update)

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
            "message": {"role": role, "content": content},
        }
        with self._file.open("a") as file:
            file.write(json.dumps(record) + "\n")


def _exists(path: str) -> bool:
    return Path(path).exists()


def _touch(path: str) -> None:
    Path(path).touch()


def _last_uuid(path: Path) -> str | None:
    lines = path.read_text().splitlines() if path.exists() else []
    return str(json.loads(lines[-1])["uuid"]) if lines else None


def _log(what: str, text: str) -> None:
    with Path(os.environ["FAKE_ACP_LOG"]).open("a") as file:
        file.write(json.dumps([what, text]) + "\n")


if __name__ == "__main__":
    asyncio.run(acp.run_agent(cast("Any", FakeAgent()), use_unstable_protocol=True))
