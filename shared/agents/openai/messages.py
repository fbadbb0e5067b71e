"""A conversation in the wire format of OpenAI's chat completions."""

from typing import Any

from shared.agents.transcript.conversation import Conversation, Entry


def to_openai(conversation: Conversation, *, note: bool = True) -> list[dict[str, Any]]:
    """The messages, system first, with only the keys of the format; `note=False` leaves our note out."""
    system = conversation.instructions if note else conversation.system
    head = [{"role": "system", "content": system}] if system.strip() else []
    return head + [message for entry in conversation.entries for message in _messages(entry)]


def _messages(entry: Entry) -> list[dict[str, Any]]:
    if not entry.calls:
        return [{"role": entry.role, "content": entry.text}]
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments_json}}
        for call in entry.calls
    ]
    results = [{"role": "tool", "tool_call_id": call.id, "content": call.result} for call in entry.calls]
    return [{"role": entry.role, "content": entry.text if entry.text.strip() else None, "tool_calls": calls}, *results]
