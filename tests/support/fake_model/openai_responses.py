"""OpenAI Responses: read a request, stream an answer."""

from collections.abc import Iterator
from typing import Any

from tests.support.fake_model.script import Answer, Call, Item, Use, flat

# Messages of role `user` that Codex adds.
_ADDED = ("<environment_context", "# AGENTS.md", "<permissions", "<user_instructions", "<skills", "<apps", "<plugins")


def read(body: dict[str, Any]) -> Call:
    """Requests without tools are the agent's own."""
    given = body.get("input")
    items = tuple(filter(None, map(_item, given if isinstance(given, list) else [])))
    spaces = [each for entry in given or () if entry.get("type") == "additional_tools" for each in entry["tools"]]
    spaces += [tool for tool in body.get("tools") or [] if tool.get("type") == "namespace"]
    namespaces = {str(tool["name"]): str(space["name"]) for space in spaces for tool in space.get("tools", [])}
    tools = frozenset(str(tool.get("name") or tool.get("type")) for tool in body.get("tools") or [])
    return Call(
        "responses", items, tools | {*namespaces}, background=not (tools or spaces), body=body, namespaces=namespaces
    )


def _item(entry: dict[str, Any]) -> Item | None:
    kind = str(entry.get("type", "message"))
    if kind == "message" and entry.get("role") in {"user", "assistant"}:
        text = flat(entry.get("content"))
        added = entry["role"] == "user" and text.lstrip().startswith(_ADDED)
        return None if added else Item(entry["role"], text)
    if kind.endswith("_output"):
        return Item("tool", flat(entry.get("output")))
    return None


def stream(answer: Answer, model: str, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """(event name, data) of a streamed answer."""
    base = {"id": f"resp_{number:06d}", "object": "response", "created_at": 0, "model": model, "output": []}
    done = _output(answer, number)
    steps: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": {**base, "status": "in_progress"}}),
        ("response.output_item.added", {"output_index": 0, "item": _begun(done)}),
        *_deltas(answer, str(done["id"])),
        ("response.output_item.done", {"output_index": 0, "item": done}),
        (
            "response.completed",
            {"response": {**base, "status": "completed", "output": [done], "usage": _usage(answer.tokens)}},
        ),
    ]
    for position, (name, data) in enumerate(steps):
        yield name, {"type": name, "sequence_number": position, **data}


def _usage(tokens: int) -> dict[str, Any]:
    return {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens + 5,
    }


def _output(answer: Answer, number: int) -> dict[str, Any]:
    if isinstance(answer, Use):
        about = {"id": f"fc_{number:06d}", "type": "function_call", "status": "completed", "name": answer.tool}
        space = {"namespace": answer.namespace} if answer.namespace else {}
        return {**about, **space, "call_id": f"call_{number:06d}", "arguments": answer.arguments_json}
    content = [{"type": "output_text", "text": answer.text, "annotations": []}]
    return {
        "id": f"msg_{number:06d}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


def _begun(done: dict[str, Any]) -> dict[str, Any]:
    nothing: dict[str, Any] = {"arguments": ""} if done["type"] == "function_call" else {"content": []}
    return {**done, "status": "in_progress", **nothing}


def _deltas(answer: Answer, item: str) -> Iterator[tuple[str, dict[str, Any]]]:
    where = {"item_id": item, "output_index": 0}
    if isinstance(answer, Use):
        yield "response.function_call_arguments.done", {**where, "arguments": answer.arguments_json}
        return
    part = {"type": "output_text", "text": "", "annotations": []}
    yield "response.content_part.added", {**where, "content_index": 0, "part": part}
    for piece in answer.text.splitlines(keepends=True):
        yield "response.output_text.delta", {**where, "content_index": 0, "delta": piece}
