"""The agent of the recording, started by the real runner: it speaks ACP, and its words are those of the story."""

import asyncio
from typing import Any, cast

import acp
from acp import schema

from docs.recording import story

_MODES = schema.SessionModeState(
    current_mode_id="default", available_modes=[schema.SessionMode(id="default", name="Ask")]
)
_OPTIONS = [
    schema.PermissionOption(option_id="yes", kind="allow_once", name="Yes"),
    schema.PermissionOption(option_id="no", kind="reject_once", name="No"),
]


class ScriptedAgent:
    """Asks before it runs the story's command, and runs nothing."""

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:
        able = schema.SessionCapabilities(resume=schema.SessionResumeCapabilities())
        return schema.InitializeResponse(
            protocol_version=protocol_version, agent_capabilities=schema.AgentCapabilities(session_capabilities=able)
        )

    async def resume_session(self, session_id: str, **_: Any) -> schema.ResumeSessionResponse:
        self._session = session_id
        return schema.ResumeSessionResponse(modes=_MODES)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Each answer takes a moment only."""

    async def prompt(self, prompt: list[Any], **_: Any) -> schema.PromptResponse:
        is_order = story.ON_THE_TRAIN in prompt[0].text
        await self._say(await self._run() if is_order else story.CONFIRMED)
        return schema.PromptResponse(stop_reason="end_turn")

    async def _run(self) -> str:
        await self._choose()
        command = {"command": story.COMMAND}
        call = schema.ToolCallUpdate(tool_call_id="c1", title=story.COMMAND, kind="execute", raw_input=command)
        answer = await self._client.request_permission(session_id=self._session, tool_call=call, options=_OPTIONS)
        if getattr(answer.outcome, "option_id", "") != "yes":
            return story.REFUSED
        done: Any = schema.ToolCallStart(
            session_update="tool_call", tool_call_id="c1", title=story.COMMAND, kind="execute", status="completed"
        )
        await self._client.session_update(self._session, done)
        return story.DONE

    async def _choose(self) -> None:
        options = [schema.EnumOption(const=name, title=name) for name in story.PLACES]
        field = schema.ElicitationStringPropertySchema(type="string", title=story.CHOICE, one_of=options)
        asked = schema.ElicitationSchema(properties={"place": field})
        form = schema.ElicitationFormSessionMode(session_id=self._session, tool_call_id="c0", requested_schema=asked)
        await self._client.create_elicitation(message=story.CHOICE, mode=form)

    async def _say(self, text: str) -> None:
        await self._client.session_update(self._session, acp.update_agent_message_text(text))


if __name__ == "__main__":
    asyncio.run(acp.run_agent(cast("Any", ScriptedAgent()), use_unstable_protocol=True))
