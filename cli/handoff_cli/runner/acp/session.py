"""Drive one session of one agent over ACP: open it by its own id, prompt, answer its questions, cancel."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import acp
from acp import schema

from handoff_cli import __version__
from handoff_cli.runner.acp.errors import AgentFailed, AgentGone, SessionBusy
from handoff_cli.runner.acp.lines import Lines
from handoff_cli.runner.acp.process import AgentProcess
from handoff_cli.runner.acp.record import Record
from handoff_cli.runner.agents.spec import Agent, AgentSpec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_PROTOCOL = 1
_SETTLE_SECONDS = 0.3
_AUTH_REQUIRED = -32000
_HURRY = {"patience": 0.5, "terminate": 1.5}


@dataclass(frozen=True)
class Option:
    """One answer that the agent accepts; `kind` says what it means, `id` is the agent's own."""

    id: str
    kind: str
    name: str


@dataclass(frozen=True)
class Question:
    """A permission that the agent asks for."""

    title: str
    kind: str
    input: Any
    options: tuple[Option, ...]


Ask = Callable[[Question], Awaitable[str | None]]
"""Returns the id of the chosen option; None refuses."""


class _Listener:
    """The client's side of the protocol. It offers the agent no files and no terminals: the agent has its own."""

    def __init__(self, record: Record, ask: Ask) -> None:
        self.record = record
        self.listening = False
        self.heard = 0
        self._ask = ask

    async def session_update(self, session_id: str, update: object, **_: Any) -> None:  # noqa: ARG002 - the library's names
        self.heard += 1
        # What `session/load` replays was said before.
        if self.listening:
            self.record.add(update)

    async def request_permission(
        self,
        session_id: str,  # noqa: ARG002 - the library's names
        tool_call: schema.ToolCallUpdate,
        options: list[schema.PermissionOption],
        **_: Any,
    ) -> schema.RequestPermissionResponse:
        offered = tuple(Option(option.option_id, option.kind, option.name) for option in options)
        question = Question(tool_call.title or "", tool_call.kind or "other", tool_call.raw_input, offered)
        chosen = await self._ask(question) if self.listening else None
        if chosen not in {option.id for option in offered}:
            chosen = next((option.id for option in offered if option.kind == "reject_once"), None)
        if chosen is None:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        selected = schema.AllowedOutcome(outcome="selected", option_id=chosen)
        return schema.RequestPermissionResponse(outcome=selected)


class AgentSession:
    """An open session. Every method may raise AgentFailed."""

    def __init__(self, agent: Agent, process: AgentProcess, listener: _Listener, native_id: str) -> None:
        self.process = process
        self._spec: AgentSpec = agent.spec
        self._listener = listener
        self._native_id = native_id
        self._connection = acp.connect_to_agent(
            cast("Any", listener), cast("Any", Lines(process.reader, process.writer))
        )

    async def open(self, directory: Path) -> None:
        """Open the session by its own id, and let the agent ask before each step. Raises SessionBusy."""
        async with asyncio.timeout(self._spec.open_seconds):
            answer = await self._call(
                self._connection.initialize(
                    protocol_version=_PROTOCOL,
                    client_capabilities=schema.ClientCapabilities(),
                    client_info=schema.Implementation(name="handoff-runner", version=__version__),
                )
            )
            if answer.protocol_version != _PROTOCOL:
                raise AgentFailed(
                    f"{self._spec.title} speaks version {answer.protocol_version} of ACP, not {_PROTOCOL}."
                )
            await self._set_mode(await self._open(answer.agent_capabilities, directory))

    async def prompt(self, text: str) -> str:
        """Say this to the agent; returns its stop reason when it has answered."""
        self._listener.record.new_prompt()
        self._listener.listening = True
        answer = await self._call(self._connection.prompt(session_id=self._native_id, prompt=[acp.text_block(text)]))
        return str(answer.stop_reason)

    async def cancel(self) -> None:
        """Ask the agent to stop; the running prompt then returns `cancelled`."""
        await self._call(self._connection.cancel(session_id=self._native_id))

    async def close(self) -> None:
        """End the connection; the process is stopped by its owner."""
        self._listener.listening = False
        await self._connection.close()

    async def _open(self, capabilities: schema.AgentCapabilities | None, directory: Path) -> Any:
        able = capabilities or schema.AgentCapabilities()
        sessions = able.session_capabilities
        if self._spec.opens == "resume" and sessions is not None and sessions.resume is not None:
            return await self._call(
                self._connection.resume_session(cwd=str(directory), session_id=self._native_id, mcp_servers=[])
            )
        if not able.load_session:
            raise AgentFailed(f"{self._spec.title} cannot open a session of the terminal over ACP.")
        answer = await self._call(
            self._connection.load_session(cwd=str(directory), session_id=self._native_id, mcp_servers=[])
        )
        await self._replayed()
        return answer

    async def _replayed(self) -> None:
        """Some agents go on replaying after their answer: wait until they are silent."""
        heard = -1
        while heard != self._listener.heard:
            heard = self._listener.heard
            await asyncio.sleep(_SETTLE_SECONDS)

    async def _set_mode(self, opened: Any) -> None:
        """Set the first asking mode that the agent has. An agent that does not ask must not be driven from a chat."""
        wanted = self._spec.asking_modes
        if not wanted:
            return
        modes = getattr(opened, "modes", None)
        known = [mode.id for mode in modes.available_modes] if modes else list(wanted[:1])
        mode = next((mode for mode in wanted if mode in known), None)
        if mode is None:
            raise AgentFailed(
                f"{self._spec.title} has none of the modes {', '.join(wanted)} in which it asks before each step."
            )
        if modes is None or modes.current_mode_id != mode:
            await self._call(self._connection.set_session_mode(session_id=self._native_id, mode_id=mode))

    async def _call(self, request: Awaitable[Any]) -> Any:
        """Await an answer; the end of the process ends the wait, and its errors become sentences."""
        call = asyncio.ensure_future(request)
        ended = asyncio.ensure_future(self.process.wait())
        try:
            await asyncio.wait({call, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not call.done():
                # The answer may still be in the pipe.
                await asyncio.wait({call}, timeout=1)
            if not call.done():
                raise self._gone()
            return call.result()
        except acp.RequestError as error:
            raise self._refused(error) from error
        except OSError as error:
            # Its output ends a moment before its exit code is known.
            await asyncio.wait({ended}, timeout=1)
            raise self._gone() from error
        finally:
            ended.cancel()
            call.cancel()

    def _gone(self) -> AgentGone:
        code = self.process.exit_code
        return AgentGone(f"{self._spec.title} ended unexpectedly{'' if code is None else f' (exit code {code})'}.")

    def _refused(self, error: acp.RequestError) -> AgentFailed:
        text = f"{error} {error.data if isinstance(error.data, dict) else ''}"
        if any(mark in text for mark in self._spec.busy_marks):
            return SessionBusy(f"{self._spec.title} in the terminal holds this session. Close it there.")
        if error.code == _AUTH_REQUIRED:
            command = self._spec.program.command
            return AgentFailed(f"{self._spec.title} is not logged in. Run `{command}` once on the machine and log in.")
        return AgentFailed(f"{self._spec.title} answered with an error: {str(error)[:300]}.")


@asynccontextmanager
async def agent_session(
    agent: Agent,
    *,
    native_id: str,
    directory: Path,
    record: Record,
    ask: Ask,
    lock: int | None = None,
    started: Callable[[int], None] = lambda _: None,
    in_a_hurry: Callable[[], bool] = lambda: False,
) -> "AsyncIterator[AgentSession]":
    """Start the agent and open the session; on exit the whole process group is gone. Raises AgentFailed.

    `lock` is a descriptor that the agent inherits, `started` gets its process id, and `in_a_hurry` says at the end
    whether the agent may take its time.
    """
    try:
        process = await AgentProcess.start(agent.command, environ=agent.environ, directory=directory, lock=lock)
    except OSError as error:
        raise AgentFailed(f"{agent.spec.title} cannot be started in {directory}: {error.strerror}.") from error
    session = AgentSession(agent, process, _Listener(record, ask), native_id)
    try:
        started(process.pid)
        await _open_in_time(session, agent, directory)
        yield session
    finally:
        try:
            await session.close()
        finally:
            await process.stop(**(_HURRY if in_a_hurry() else {}))


async def _open_in_time(session: AgentSession, agent: Agent, directory: Path) -> None:
    try:
        await session.open(directory)
    except TimeoutError as error:
        raise AgentFailed(f"{agent.spec.title} did not open the session in time.") from error
