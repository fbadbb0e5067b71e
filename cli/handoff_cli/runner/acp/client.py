"""The client's side of the protocol: what an agent says and asks goes to the turn that it works on."""

import asyncio
import re
from typing import Any, Protocol

from acp import schema

from handoff_cli.runner.acp.modes import Modes
from handoff_cli.runner.acp.options import Options
from handoff_cli.runner.questions.choice import Form, form_of
from handoff_cli.runner.questions.permission import Option

_LATE_SECONDS = 1.0
_NAME = re.compile(r"[!-~]{1,60}")
_MOST, _LONGEST = 100, 200
_WORK = (schema.AgentMessageChunk, schema.AgentThoughtChunk, schema.ToolCallStart, schema.ToolCallProgress)


class Audience(Protocol):
    """Hears an agent while it works on a turn, and answers it for the user."""

    def hear(self, update: object) -> None:
        """Something that the agent says or does."""

    async def permit(self, call: schema.ToolCallUpdate, options: tuple[Option, ...]) -> str | None:
        """The id of the option that the user chose; None refuses."""

    async def choose(self, form: Form) -> dict[str, Any] | None:
        """The fields that the user filled in; None declines."""


class Nobody:
    """The audience between two turns: it refuses everything, and notes that the agent works without a turn."""

    def __init__(self) -> None:
        self.disturbed = asyncio.Event()
        self._since = asyncio.get_running_loop().time()

    def hear(self, update: object) -> None:
        """Some agents send the rest of a turn a moment after its end."""
        if isinstance(update, _WORK) and asyncio.get_running_loop().time() - self._since > _LATE_SECONDS:
            self.disturbed.set()

    async def permit(self, call: schema.ToolCallUpdate, options: tuple[Option, ...]) -> str | None:  # noqa: ARG002 - the interface
        self.disturbed.set()
        return None

    async def choose(self, form: Form) -> dict[str, Any] | None:  # noqa: ARG002 - the interface
        self.disturbed.set()
        return None


class Client:
    """Offers the agent no files and no terminals: it has its own. Before there is an audience everything is refused."""

    def __init__(self, modes: Modes, options: Options) -> None:
        self.modes, self.options = modes, options
        self.audience: Audience | None = None
        self.heard = 0
        """The number of updates, those without an audience too: `session/load` replays what was said before."""
        self.commands: dict[str, str] | None = None

    async def session_update(self, session_id: str, update: object, **_: Any) -> None:  # noqa: ARG002 - the library's names
        self.heard += 1
        self.options.watch(update)
        self.modes.watch(update)
        if isinstance(update, schema.AvailableCommandsUpdate):
            self.commands = _commands(update)
        if self.audience is not None:
            self.audience.hear(update)

    async def request_permission(
        self,
        session_id: str,  # noqa: ARG002 - the library's names
        tool_call: schema.ToolCallUpdate,
        options: list[schema.PermissionOption],
        **_: Any,
    ) -> schema.RequestPermissionResponse:
        offered = tuple(Option(option.option_id, option.kind, option.name) for option in options)
        chosen = await self.audience.permit(tool_call, offered) if self.audience else None
        if chosen not in {option.id for option in offered}:
            chosen = next((option.id for option in offered if option.kind == "reject_once"), None)
        if chosen is None:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        selected = schema.AllowedOutcome(outcome="selected", option_id=chosen)
        return schema.RequestPermissionResponse(outcome=selected)

    async def create_elicitation(
        self, message: str, mode: object, **meta: Any
    ) -> schema.AcceptElicitationResponse | schema.DeclineElicitationResponse:
        form = form_of(message, mode, meta)
        content = await self.audience.choose(form) if form and self.audience else None
        if not content:
            return schema.DeclineElicitationResponse(action="decline")
        return schema.AcceptElicitationResponse(action="accept", content=content)


def _commands(update: schema.AvailableCommandsUpdate) -> dict[str, str]:
    named = {one.name: " ".join((one.description or "").split())[:_LONGEST] for one in update.available_commands}
    usable = {name: said for name, said in named.items() if _NAME.fullmatch(name)}
    return dict(list(usable.items())[:_MOST])
