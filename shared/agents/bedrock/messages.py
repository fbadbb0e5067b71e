"""A conversation in the wire format of Bedrock's Converse."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from shared.agents.transcript.conversation import Conversation, Entry
from shared.domain.files import StoredFile

NO_PICTURES: Mapping[str, bytes] = MappingProxyType({})


def to_converse(conversation: Conversation, pictures: Mapping[str, bytes] = NO_PICTURES) -> dict[str, Any]:
    """`messages`, `system` and `toolConfig`, without empty ones; `pictures`, and documents, by the ids of their files.

    Converse has two roles: a tool's result is a block of the user, in one message with the user's next text.
    """
    messages: list[dict[str, Any]] = []
    left = dict(pictures)
    for entry in conversation.entries:
        _add(messages, entry.role, _said(entry, left))
        _add(messages, "user", [_result(call.id, call.result) for call in entry.calls])
    request: dict[str, Any] = {"messages": messages}
    if conversation.instructions:
        request["system"] = [{"text": conversation.instructions}]
    if conversation.has_calls:
        request["toolConfig"] = {"tools": _tools(conversation)}
    return request


def _add(messages: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    elif blocks:
        messages.append({"role": role, "content": blocks})


def _said(entry: Entry, left: dict[str, bytes]) -> list[dict[str, Any]]:
    text = [{"text": entry.text}] if entry.text.strip() else []
    uses = [
        {"toolUse": {"toolUseId": call.id, "name": call.name, "input": dict(call.arguments)}} for call in entry.calls
    ]
    return text + [_seen(file, left) for file in entry.files if file.id in left] + uses


def _seen(file: StoredFile, left: dict[str, bytes]) -> dict[str, Any]:
    """A document is there once: its name is its own. A model takes that for words of the user, so it is not theirs."""
    if file.is_picture:
        return {"image": {"format": file.media_type.removeprefix("image/"), "source": {"bytes": left[file.id]}}}
    return {"document": {"format": "pdf", "name": f"document {file.id[:12]}", "source": {"bytes": left.pop(file.id)}}}


def _result(call_id: str, result: str) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": call_id, "content": [{"text": result}]}}


def _tools(conversation: Conversation) -> list[dict[str, Any]]:
    """The tools that were used: Converse rejects tool blocks whose tools are not declared."""
    names = dict.fromkeys(call.name for entry in conversation.entries for call in entry.calls)
    schema = {"json": {"type": "object"}}
    about = "Was used earlier in this conversation; cannot be called here."
    return [{"toolSpec": {"name": name, "description": about, "inputSchema": schema}} for name in names]
