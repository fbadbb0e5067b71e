"""Events of an agent's hook, and the answers to them. Each agent has its own dialect of the same JSON."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handoff_cli.inside.state import StateFile

_ID = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_PROMPT, _START, _COMPACT = "UserPromptSubmit", "SessionStart", "PreCompact"
# Gemini calls the hook before a prompt by another name, and a refusal as well.
_PROMPT_NAMES = {"gemini": "BeforeAgent"}
_REFUSALS = {"gemini": "deny"}


@dataclass(frozen=True)
class Event:
    """A prompt that the user sent, or (without one) a session that was begun, loaded or is to be compacted."""

    agent: str
    native_id: str
    directory: Path
    prompt: str | None
    source: str = ""
    transcript: Path | None = None
    compacts: bool = False

    @property
    def loaded(self) -> bool:
        """Did the agent just read the session from its file?"""
        return self.prompt is None and self.source == "resume"


@dataclass(frozen=True)
class Block:
    """Show this instead of sending the prompt to the model."""

    text: str


@dataclass(frozen=True)
class Tell:
    """Let the agent go on; show something to the user, give something to the model."""

    shown: str = ""
    context: str = ""
    note: StateFile | None = None
    """The note to remove once the agent has this answer: if the process ends before, the next one has it again."""


Answer = Block | Tell


def read_event(agent: str, given: Any) -> Event | None:
    """The event, or None if it is not one that is understood: the agent then goes on as without a hook."""
    if not isinstance(given, Mapping) or not _ID.fullmatch(str(given.get("session_id"))):
        return None
    name = given.get("hook_event_name", _PROMPT)
    prompt = given.get("prompt")
    if name in {_PROMPT, _PROMPT_NAMES.get(agent)}:
        if not isinstance(prompt, str):
            return None
    elif name in {_START, _COMPACT}:
        prompt = None
    else:
        return None
    transcript = given.get("transcript_path")
    return Event(
        agent=agent,
        native_id=str(given["session_id"]),
        directory=Path(str(given.get("cwd") or "/")),
        prompt=prompt,
        source=str(given.get("source") or ""),
        transcript=Path(transcript) if isinstance(transcript, str) and transcript else None,
        compacts=name == _COMPACT,
    )


def rendered(event: Event, answer: Answer) -> dict[str, Any]:
    """The answer as the agent reads it; empty if there is nothing to say."""
    name = _START if event.prompt is None else _PROMPT_NAMES.get(event.agent, _PROMPT)
    if isinstance(answer, Block):
        if event.agent == "codex" and event.compacts:
            # Codex refuses any other answer to this hook. Where it knows `decision`, that one keeps the turn apart.
            return {"continue": False, "stopReason": answer.text}
        refusal: dict[str, Any] = {"decision": _REFUSALS.get(event.agent, "block"), "reason": answer.text}
        if event.agent == "claude-code" and event.prompt is not None:
            # Else Claude Code repeats the refused words below the reason.
            refusal["hookSpecificOutput"] = {"hookEventName": name, "suppressOriginalPrompt": True}
        return refusal
    shown: dict[str, Any] = {"systemMessage": answer.shown} if answer.shown else {}
    if answer.context:
        shown["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": answer.context}
    return shown
