"""Repair a stored transcript: turn its messages into entries that every model accepts, without losing text."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Literal

from shared.agents.transcript.conversation import Call, Entry
from shared.domain.files import StoredFile, files_of
from shared.domain.messages import Message, whole

NO_RESULT = "(no result: the call was interrupted)"
NO_OUTPUT = "(no output)"


@dataclass
class _Draft:
    """An entry whose tool results may still follow; `results` by the position of the call."""

    role: Literal["user", "assistant"]
    text: str
    calls: list[Mapping[str, Any]] = field(default_factory=list)
    results: dict[int, str] = field(default_factory=dict)
    messages: int = 1
    files: tuple[StoredFile, ...] = ()


def repair(messages: Sequence[Message]) -> tuple[str, list[Entry]]:
    """The leading system text, and every other message as an entry, in order.

    A result is joined to its call, wherever it stood; a call without a result says so; a result without a call and a
    later system message become user text; empty messages are dropped. Calls get new ids, because terminals repeat ids
    across turns and providers accept different ids.
    """
    head = list(takewhile(lambda message: message["role"] == "system", messages))
    system = "\n\n".join(filter(str.strip, (plain_text(message.get("content")) for message in head)))
    drafts: list[_Draft] = []
    waiting: dict[str, tuple[_Draft, int]] = {}  # call id -> where its result belongs; the latest call of an id wins
    for message in messages[len(head) :]:
        text = plain_text(message.get("content"))
        if message["role"] == "tool":
            _settle(message, text, drafts, waiting)
        elif message["role"] == "assistant":
            draft = _Draft("assistant", text, calls=_calls(message))
            waiting |= {str(call["id"]): (draft, at) for at, call in enumerate(draft.calls) if call.get("id")}
            drafts.append(draft)
        else:
            said = f"[System] {text}" if message["role"] == "system" and text.strip() else text
            drafts.append(_Draft("user", said, files=tuple(files_of(message))))
    return system, _entries(drafts)


def _settle(message: Message, text: str, drafts: list[_Draft], waiting: dict[str, tuple[_Draft, int]]) -> None:
    """Join a result to its call; a result without a call is kept as text."""
    draft, at = waiting.pop(str(message.get("tool_call_id")), (None, 0))
    if draft is None:
        drafts.append(_Draft("user", f"[Result of a tool call that is not shown] {text}" if text.strip() else ""))
        return
    draft.results[at] = text if text.strip() else NO_OUTPUT
    draft.messages += 1


def _entries(drafts: Sequence[_Draft]) -> list[Entry]:
    entries, number = [], 0
    for draft in drafts:
        calls = []
        for at, call in enumerate(draft.calls):
            number += 1
            name, arguments = _function(call)
            calls.append(Call(_call_id(number), name, arguments, draft.results.get(at, NO_RESULT)))
        if calls or draft.text.strip():
            entries.append(Entry(draft.role, draft.text, tuple(calls), draft.messages, draft.files))
    return entries


def _call_id(number: int) -> str:
    """Nine letters and digits: the form that OpenAI, Bedrock and Mistral all accept."""
    return f"call{number:05d}"


def _calls(message: Message) -> list[Mapping[str, Any]]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list | tuple) else []


def _function(call: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The name and the arguments of a call, from any of the known shapes."""
    function = call.get("function")
    stored = function if isinstance(function, Mapping) else call
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", str(stored.get("name") or "tool"))[:64]
    raw: object = next((stored[key] for key in ("arguments", "input", "args") if stored.get(key) is not None), {})
    try:
        parsed = json.loads(raw) if isinstance(raw, str) and raw.strip() else raw or {}
        # Serialise and parse again: what strict JSON cannot express (NaN, Infinity) is kept as text instead.
        arguments = json.loads(_clean(json.dumps(parsed, ensure_ascii=False, allow_nan=False)))
    except (ValueError, TypeError, RecursionError):
        arguments = None
    return name, arguments if isinstance(arguments, dict) else {"arguments": _clean(str(raw))}


def plain_text(content: object, *, depth: int = 8) -> str:
    """The text of a content, plain or a list of parts; a part without text is shown by its type, such as `[image]`."""
    if content is None or not depth:
        return ""
    if isinstance(content, str):
        return _clean(content)
    if isinstance(content, Mapping):
        if isinstance(content.get("text"), str):
            return _clean(content["text"])
        inner = content.get("content")
        return (
            plain_text(inner, depth=depth - 1) if inner is not None else f"[{_clean(str(content.get('type', 'part')))}]"
        )
    if isinstance(content, list | tuple):
        return "\n".join(filter(None, (plain_text(part, depth=depth - 1) for part in content)))
    return _clean(str(content))


def _clean(text: str) -> str:
    """The text without lone surrogates and NUL, which JSON bodies must not contain."""
    return whole(text).replace("\x00", "\ufffd")
