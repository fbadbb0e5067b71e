"""Anthropic Messages: read a request, stream an answer."""

from collections.abc import Iterator
from typing import Any

from tests.support.fake_model.script import Answer, Call, Item, Use, flat

_ADDED = "<system-reminder>"
_SUGGESTION = "[SUGGESTION MODE:"


def read(body: dict[str, Any]) -> Call:
    """Requests without tools and those for a suggestion are the agent's own."""
    items = tuple(
        _item(message) for message in body.get("messages", []) if message.get("role") in {"user", "assistant"}
    )
    tools = frozenset(str(tool.get("name")) for tool in body.get("tools") or [])
    suggestion = bool(items) and items[-1].text.lstrip().startswith(_SUGGESTION)
    return Call("anthropic", items, tools, background=not tools or suggestion, body=body)


def _item(message: dict[str, Any]) -> Item:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    results = [part for part in parts if part.get("type") == "tool_result"]
    if results:
        return Item("tool", flat(results))
    texts = [part for part in parts if part.get("type") == "text" and not str(part["text"]).startswith(_ADDED)]
    return Item(message["role"], flat(texts))


def whole(answer: Answer, model: str, number: int) -> dict[str, Any]:
    """The answer in one piece."""
    return {**_head(answer, model, number), "content": [_block(answer, number)], "stop_reason": _stop_reason(answer)}


def stream(answer: Answer, model: str, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """(event name, data) of a streamed answer."""
    block = _block(answer, number)
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": _head(answer, model, number)},
        {"type": "content_block_start", "index": 0, "content_block": _empty(block)},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in _deltas(answer)),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": _stop_reason(answer), "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]
    for event in events:
        yield str(event["type"]), event


def _head(answer: Answer, model: str, number: int) -> dict[str, Any]:
    cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    usage = {"input_tokens": answer.tokens, **cached, "output_tokens": 1}
    about = {"id": f"msg_{number:06d}", "type": "message", "role": "assistant", "model": model}
    return {**about, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}


def _block(answer: Answer, number: int) -> dict[str, Any]:
    if isinstance(answer, Use):
        return {"type": "tool_use", "id": f"toolu_{number:06d}", "name": answer.tool, "input": answer.arguments}
    return {"type": "text", "text": answer.text}


def _empty(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, "input": {}} if block["type"] == "tool_use" else {**block, "text": ""}


def _deltas(answer: Answer) -> Iterator[dict[str, Any]]:
    if isinstance(answer, Use):
        yield {"type": "input_json_delta", "partial_json": answer.arguments_json}
    else:
        for piece in answer.text.splitlines(keepends=True):
            yield {"type": "text_delta", "text": piece}


def _stop_reason(answer: Answer) -> str:
    return "tool_use" if isinstance(answer, Use) else "end_turn"
