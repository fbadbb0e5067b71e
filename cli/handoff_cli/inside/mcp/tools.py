"""The tools of the MCP server: hand the conversation over, say where it is, bring it back."""

import uuid
from dataclasses import replace
from itertools import islice
from typing import Any

from handoff_cli.api.client import Service
from handoff_cli.context import Context
from handoff_cli.errors import UsageProblem
from handoff_cli.handoff.destination import check_destination
from handoff_cli.inside.mcp.protocol import BadParams
from handoff_cli.inside.move import Destination, hand_over, secrets_note, upload_to
from handoff_cli.readers.read import read_session
from handoff_cli.readers.source import Source
from handoff_cli.sessions.bring_back import bring_back
from handoff_cli.transcripts.messages import Transcript, check
from handoff_cli.ui.messages import text_of

Json = dict[str, Any]

SOURCE = "mcp"
_SHOWN = 50
_LONGEST = 4000
_STOP = "Do no further work on it here until it is brought back with handoff_back."
_MESSAGE: Json = {
    "type": "object",
    "properties": {"role": {"enum": ["user", "assistant"]}, "content": {"type": "string"}},
    "required": ["role", "content"],
}
_CONVERSATION: Json = {"type": "array", "items": _MESSAGE, "minItems": 1}
_NOTHING: Json = {"type": "object", "properties": {}}


def tools(*, reads: bool) -> list[Json]:
    """The list. Where the agent's own session can be read, the model need not repeat the conversation."""
    text = {"type": "string"}
    properties: Json = {
        "platform": {**text, "description": "telegram, slack or discord"},
        "message": {**text, "description": "what the agent there should do first; only if the user said so"},
        "title": {**text, "description": "a few words that name the work"},
    }
    required = ["platform"]
    if not reads:
        about = "the whole conversation so far, oldest first, in the words that were used"
        properties["conversation"] = {**_CONVERSATION, "description": about}
        required.append("conversation")
    schema = {"type": "object", "properties": properties, "required": required}
    return [
        {"name": "handoff", "description": "Move this conversation to a new chat thread. Call it only if the user asks.",
         "inputSchema": schema},
        {"name": "handoff_status", "description": "Where the conversation is that was moved from this directory.",
         "inputSchema": _NOTHING},
        {"name": "handoff_back", "description": "Bring the moved conversation back, with what was said in the chat.",
         "inputSchema": _NOTHING},
    ]  # fmt: skip


PROMPTS: dict[str, Json] = {
    "handoff": {
        "description": "Move this conversation to a chat thread",
        "arguments": [{"name": "platform", "description": "telegram, slack or discord", "required": True}],
        "text": "Move this conversation to {platform} with the tool `handoff`, then show me the link and stop.",
    }
}


class Tools:
    """The tools. One process serves one agent in one directory."""

    def __init__(self, context: Context, agent: str | None) -> None:
        self._context, self._agent = context, agent
        self._directory = str(context.directory)

    def call(self, name: str, arguments: Json) -> str:
        """Run a tool. Raises CliError and BadParams."""
        known = {"handoff": self._hand_over, "handoff_status": self._status, "handoff_back": self._back}
        if name not in known:
            raise BadParams(f"there is no tool {name}")
        return known[name](arguments)

    def _hand_over(self, arguments: Json) -> str:
        platform = str(arguments.get("platform") or "").strip().lower()
        if not platform:
            raise UsageProblem("Say where to: platform is missing.")
        transcript = self._transcript(arguments)
        message = str(arguments.get("message") or "").strip()
        where = Destination(platform, message, uuid.uuid4().hex, self._directory)
        with self._context.service() as service:
            check_destination(service, platform, target=None)
            session, answerer = upload_to(self._context, service, transcript, where)
            moved = hand_over(self._context, service, session, where)
        link = (moved.get("thread") or {}).get("url") or "(no link)"
        lines = [f"The conversation is in {platform} now. Show the user this link:", str(link), _STOP]
        answers = self._context.terminal.to_copy(answerer.sentence)
        return "\n".join([*lines, *filter(None, [answers, secrets_note(transcript)])])

    def _transcript(self, arguments: Json) -> Transcript:
        title = str(arguments.get("title") or "") or None
        if self._agent:
            read = read_session(self._agent, Source(self._context.directory, self._context.environ))
            return replace(read, title=title or read.title)
        given = arguments.get("conversation")
        messages = [
            {"role": each["role"], "content": str(each.get("content") or "")}
            for each in (given if isinstance(given, list) else [])
            if isinstance(each, dict) and each.get("role") in {"user", "assistant"}
        ]
        if not messages:
            raise UsageProblem("conversation is missing: give the messages of this conversation, oldest first.")
        check(messages, "conversation")
        return Transcript(messages, title=title, source=SOURCE)

    def _status(self, _: Json) -> str:
        with self._context.service() as service:
            session = self._elsewhere(service)
        if session is None:
            return "The conversation is here."
        return f"The conversation is in {session['owner'].partition(':')[0]}: {session.get('link') or '(no link)'}"

    def _back(self, _: Json) -> str:
        with self._context.service() as service:
            session = self._elsewhere(service)
            if session is None:
                return "The conversation is here; it was not moved, or it is back already."
            returned = bring_back(service, session)
        said = [
            f"{message['role']}: {text_of(message.get('content'))[:_LONGEST]}"
            for message in returned.messages
            if message["role"] in {"user", "assistant"} and not message.get("internal")
        ]
        return "\n\n".join(["The conversation is here again. This was said in the chat:", *said])

    def _elsewhere(self, service: Service) -> Json | None:
        """The newest session of this directory that such a server moved, if it is in a chat."""
        source = self._agent or SOURCE
        for session in islice(service.sessions(), _SHOWN):
            mine = session.get("cwd") == self._directory and session.get("source") == source
            if mine and session["owner"] != "cli":
                return session
        return None
