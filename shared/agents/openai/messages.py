"""A conversation in the wire format of OpenAI's chat completions."""

from base64 import b64encode
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from shared.agents.transcript.conversation import Conversation, Entry

NO_PICTURES: Mapping[str, bytes] = MappingProxyType({})


def to_openai(
    conversation: Conversation, *, note: bool = True, pictures: Mapping[str, bytes] = NO_PICTURES
) -> list[dict[str, Any]]:
    """The messages, system first, with only the keys of the format; `note=False` leaves our note out.

    `pictures` are the bytes of files that the model is to see, by their ids.
    """
    system = conversation.instructions if note else conversation.system
    head = [{"role": "system", "content": system}] if system.strip() else []
    return head + [message for entry in conversation.entries for message in _messages(entry, pictures)]


def _messages(entry: Entry, pictures: Mapping[str, bytes]) -> list[dict[str, Any]]:
    if not entry.calls:
        seen = [_picture(file.media_type, pictures[file.id]) for file in entry.files if file.id in pictures]
        content = [{"type": "text", "text": entry.text}, *seen] if seen else entry.text
        return [{"role": entry.role, "content": content}]
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments_json}}
        for call in entry.calls
    ]
    results = [{"role": "tool", "tool_call_id": call.id, "content": call.result} for call in entry.calls]
    return [{"role": entry.role, "content": entry.text if entry.text.strip() else None, "tool_calls": calls}, *results]


def _picture(media_type: str, content: bytes) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{b64encode(content).decode()}"}}
