"""OpenAI Chat Completions: read a request, stream an answer."""

from collections.abc import Iterator
from typing import Any

from tests.support.fake_model.script import Answer, Call, Item, Use, flat

_ROLES = ("user", "assistant", "tool")


def read(body: dict[str, Any]) -> Call:
    """Requests without tools are the agent's own."""
    messages = [message for message in body.get("messages", []) if message.get("role") in _ROLES]
    items = tuple(Item(message["role"], flat(message.get("content"))) for message in messages)
    tools = frozenset(str(tool.get("function", {}).get("name")) for tool in body.get("tools") or [])
    return Call("chat", items, tools, background=not tools, body=body)


def whole(answer: Answer, model: str, number: int) -> dict[str, Any]:
    """The answer in one piece."""
    message = {"role": "assistant", **_content(answer, number)}
    return {**_head(model, number), "object": "chat.completion", "choices": [_choice("message", message, answer)]}


def stream(answer: Answer, model: str, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """(no event name, data) of a streamed answer."""
    head = {**_head(model, number), "object": "chat.completion.chunk"}
    yield "", {**head, "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}
    yield "", {**head, "choices": [{"index": 0, "delta": _content(answer, number), "finish_reason": None}]}
    yield "", {**head, "choices": [_choice("delta", {}, answer)]}


def _head(model: str, number: int) -> dict[str, Any]:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {"id": f"chatcmpl-{number}", "created": 0, "model": model, "usage": usage}


def _choice(name: str, value: dict[str, Any], answer: Answer) -> dict[str, Any]:
    return {"index": 0, name: value, "finish_reason": "tool_calls" if isinstance(answer, Use) else "stop"}


def _content(answer: Answer, number: int) -> dict[str, Any]:
    if not isinstance(answer, Use):
        return {"content": answer.text}
    function = {"name": answer.tool, "arguments": answer.arguments_json}
    return {"tool_calls": [{"index": 0, "id": f"call_{number:06d}", "type": "function", "function": function}]}
