"""One open session of one agent process over ACP. Every call may raise AgentFailed."""

import asyncio
import re
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import acp
from acp import schema

from handoff_cli import __version__
from handoff_cli.runner.acp.client import Audience, Client, Nobody
from handoff_cli.runner.acp.errors import AgentFailed, AgentGone, SessionBusy
from handoff_cli.runner.acp.lines import Lines
from handoff_cli.runner.acp.modes import Modes
from handoff_cli.runner.acp.options import Dial, Options
from handoff_cli.runner.acp.process import AgentProcess
from handoff_cli.runner.agents.spec import AgentSpec

_PROTOCOL = 1
NATIVE_ID = re.compile(r"[!-~]{1,200}")
_SETTLE_SECONDS = 0.3
_AUTH_REQUIRED = -32000
_STEER_SECONDS = 10.0
_PROMPT_REQUIRED = {"steering": {"idleBehavior": "promptRequired"}}
"""Otherwise words that come too late would start a turn for which nobody waits."""
_HURRY = {"patience": 0.5, "terminate": 1.5}

T = TypeVar("T")
Block = schema.ImageContentBlock | schema.ResourceContentBlock
"""What is given to an agent beside words."""


class Connection:
    """From the start of the process to its end: `open` once, then any number of prompts, one at a time."""

    def __init__(self, spec: AgentSpec, process: AgentProcess, native_id: str) -> None:
        self._spec, self._process, self._native_id = spec, process, native_id
        self._client = Client(Modes(spec, self._set_mode, self.cancel), Options(spec))
        self._acp = acp.connect_to_agent(
            cast("Any", self._client), cast("Any", Lines(process.reader, process.writer)), use_unstable_protocol=True
        )
        self._servers: list[Any] = []
        self._steers = self._sees = False
        self._prompt: asyncio.Task[schema.PromptResponse] | None = None
        self._opened = False

    async def open(self, directory: Path, *, choices: bool = False, server: schema.McpServerStdio | None = None) -> str:
        """Open the session by its own id, or begin one; returns the id. The agent asks before each step, also for `choices`.

        `server` has tools for the agent. Raises SessionBusy.
        """
        self._servers = [server] if server else []
        try:
            async with asyncio.timeout(self._spec.open_seconds):
                opened = await self._open(await self._initialize(choices=choices), str(directory))
                self._client.options.took(getattr(opened, "config_options", None))
                await self._client.modes.begin(opened)
                self._opened = True
                return self._native_id
        except TimeoutError as error:
            raise AgentFailed(f"{self._spec.title} did not open the session in time.") from error

    async def prompt(self, text: str, audience: Audience, blocks: Sequence[Block] = ()) -> str:
        """Say this to the agent; returns its stop reason when it has answered. The audience stays until the next one."""
        notes = [await self._client.modes.settle()]  # it may have left them since it has answered
        self._client.audience = audience
        said = self._acp.prompt(session_id=self._native_id, prompt=self._said(text, blocks))
        self._prompt = asyncio.create_task(self._call(said))
        answer = await asyncio.shield(self._prompt)
        notes.append(await self._client.modes.settle())
        for note in filter(None, notes):
            audience.hear(acp.update_agent_message_text(f"\n\n{note}"))
        if answer.usage is not None:
            audience.hear(answer.usage)
        return str(answer.stop_reason)

    def dial(self, name: str) -> Dial | None:
        """What the user may choose; None if the agent has no such option."""
        dial = self._client.options.dial(name)
        if dial is None or name != "mode" or self._spec.mode_option:
            return dial
        # It was set since the agent told its options, and some announce only the mode.
        return replace(dial, current=self._client.modes.current or dial.current)

    async def choose(self, name: str, value: str) -> Dial | None:
        """Set an option, at work or at rest; returns what the agent has confirmed."""
        dial = self.dial(name)
        if dial is None or value not in {choice.value for choice in dial.choices}:
            return dial
        set_ = self._acp.set_config_option(session_id=self._native_id, config_id=dial.id, value=value)
        self._client.options.took((await self._call(set_)).config_options)
        after = self._client.options.dial(name)
        if name == "mode" and after is not None:
            self._client.modes.chosen(after.current)
        return self.dial(name)

    @property
    def is_open(self) -> bool:
        """Whether the session is open in it, and its mode is set."""
        return self._opened and self._process.exit_code is None

    @property
    def is_new(self) -> bool:
        """Whether it has not been prompted."""
        return self._prompt is None

    @property
    def is_idle(self) -> bool:
        """Whether it runs, has answered its last prompt, and asks before each step."""
        prompt = self._prompt
        answered = prompt is not None and prompt.done() and not prompt.cancelled() and prompt.exception() is None
        return answered and self._process.exit_code is None and not self._client.modes.is_lost

    @property
    def heard(self) -> int:
        """The number of updates that came."""
        return self._client.heard

    @property
    def commands(self) -> dict[str, str] | None:
        """The agent's own commands with what they do; None if it did not tell them."""
        return self._client.commands

    @property
    def memory(self) -> str:
        """What its process group needs, as the end of a sentence."""
        return self._process.memory

    def rest(self) -> Nobody:
        """Between two turns: nothing is permitted, and nobody listens."""
        self._client.audience = nobody = Nobody()
        return nobody

    async def wait(self) -> None:
        """Until the process has ended."""
        await self._process.wait()

    @property
    def steers(self) -> bool:
        """Whether words can be given to it while it answers a prompt."""
        return self._steers

    async def steer(self, text: str, blocks: Sequence[Block] = ()) -> bool | None:
        """Give the agent words while it answers. False: it has ended its answer, so they belong into a prompt.

        None: it did not say. They may stand in its session.
        """
        prompt = [block.model_dump(by_alias=True, exclude_none=True) for block in self._said(text, blocks)]
        said = {"sessionId": self._native_id, "prompt": prompt, "_meta": _PROMPT_REQUIRED}
        try:
            async with asyncio.timeout(_STEER_SECONDS):
                answer = await self._call(self._acp.ext_method("session/steering", said))
        except (AgentFailed, TimeoutError):
            return None
        return {"injected": True, "promptRequired": False}.get(str(answer.get("outcome")))

    def _said(self, text: str, blocks: Sequence[Block]) -> list[Any]:
        """Pictures only for agents that take them: others refuse the whole prompt. Their paths stand in the text."""
        beside = [block for block in blocks if self._sees or not isinstance(block, schema.ImageContentBlock)]
        return [acp.text_block(text), *beside] if text or not beside else beside

    async def cancel(self) -> None:
        """Ask the agent to stop; the running prompt then returns `cancelled`."""
        await self._call(self._acp.cancel(session_id=self._native_id))

    async def close(self, *, patience: float, in_a_hurry: bool) -> None:
        """End the process group; one that answers a prompt is asked to stop first, and has `patience` seconds for it.

        Its audience hears of that only what it has used.
        """
        audience, self._client.audience = self._client.audience, None
        try:
            if self._prompt and not self._prompt.done():
                in_a_hurry = True
                answer = await self._give_up(self._prompt, patience)
                if audience and answer and answer.usage:
                    audience.hear(answer.usage)
            await self._client.modes.close()
            await self._acp.close()
        finally:
            await self._process.stop(**(_HURRY if in_a_hurry else {}))

    async def _give_up(
        self, prompt: "asyncio.Task[schema.PromptResponse]", patience: float
    ) -> schema.PromptResponse | None:
        """The answer to the prompt that is cancelled, if there is one in time."""
        asked = asyncio.create_task(self.cancel())
        await asyncio.wait({prompt}, timeout=patience)
        for task in (asked, prompt):
            task.cancel()
        _, answer = await asyncio.gather(asked, prompt, return_exceptions=True)
        return None if isinstance(answer, BaseException) else answer

    async def _initialize(self, *, choices: bool) -> schema.AgentCapabilities:
        forms = schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities()) if choices else None
        answer = await self._call(
            self._acp.initialize(
                protocol_version=_PROTOCOL,
                client_capabilities=schema.ClientCapabilities(elicitation=forms),
                client_info=schema.Implementation(name="handoff-runner", version=__version__),
            )
        )
        if answer.protocol_version != _PROTOCOL:
            raise AgentFailed(f"{self._spec.title} speaks version {answer.protocol_version} of ACP, not {_PROTOCOL}.")
        steering = (answer.field_meta or {}).get("steering")
        self._steers = isinstance(steering, dict) and steering.get("supported") is True
        able = answer.agent_capabilities or schema.AgentCapabilities()
        self._sees = able.prompt_capabilities is not None and able.prompt_capabilities.image is True
        return able

    async def _open(self, able: schema.AgentCapabilities, directory: str) -> Any:
        extra = self._spec.opened_with if self._servers else {}
        if not self._native_id:
            begun = await self._call(self._acp.new_session(cwd=directory, mcp_servers=self._servers, **extra))
            if not begun.session_id or not NATIVE_ID.fullmatch(begun.session_id):
                raise AgentFailed(f"{self._spec.title} gave its new session no id that can be used.")
            self._native_id = begun.session_id
            return begun
        about: dict[str, Any] = {"cwd": directory, "session_id": self._native_id, "mcp_servers": self._servers, **extra}
        sessions = able.session_capabilities
        if self._spec.opens == "resume" and sessions is not None and sessions.resume is not None:
            return await self._call(self._acp.resume_session(**about))
        if not able.load_session:
            raise AgentFailed(f"{self._spec.title} cannot open a session of the terminal over ACP.")
        answer = await self._call(self._acp.load_session(**about))
        await self._replayed()
        return answer

    async def _replayed(self) -> None:
        """Some agents go on replaying after their answer: wait until they are silent."""
        heard = -1
        while heard != self._client.heard:
            heard = self._client.heard
            await asyncio.sleep(_SETTLE_SECONDS)

    async def _set_mode(self, mode: str) -> None:
        await self._call(self._acp.set_session_mode(session_id=self._native_id, mode_id=mode))

    async def _call(self, request: Awaitable[T]) -> T:
        """Await an answer; the end of the process ends the wait, and its errors become sentences."""
        call = asyncio.ensure_future(request)
        ended = asyncio.ensure_future(self._process.wait())
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
        code = self._process.exit_code
        return AgentGone(f"{self._spec.title} ended unexpectedly{'' if code is None else f' (exit code {code})'}.")

    def _refused(self, error: acp.RequestError) -> AgentFailed:
        text = f"{error} {error.data if isinstance(error.data, dict) else ''}"
        if any(mark in text for mark in self._spec.busy_marks):
            return SessionBusy(f"{self._spec.title} in the terminal holds this session. Close it there.")
        if error.code == _AUTH_REQUIRED:
            command = self._spec.program.command
            return AgentFailed(f"{self._spec.title} is not logged in. Run `{command}` once on the machine and log in.")
        return AgentFailed(f"{self._spec.title} answered with an error: {str(error)[:300]}.")
