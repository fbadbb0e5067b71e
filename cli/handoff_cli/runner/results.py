"""The result of a turn as the service takes it: within its limits, with a digest that makes repeats safe."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from handoff_cli.readers.fitting import fit
from handoff_cli.runner.excerpt import cut
from handoff_cli.transcripts.messages import Message

BODY_LIMIT = 1000 * 1024
_SHORT_TOOL = 200
_SHORT_REPLY = (64 * 1024, 8 * 1024)

_NOT_TAKEN = "The agent answered, but its answer could not be handed over. It is in its session on the machine."

Body = dict[str, Any]


def result_body(
    *,
    session_id: str,
    fence: int,
    outcome: str,
    messages: Sequence[Message],
    given: Sequence[str],
    native_id: str,
    summary: dict[str, int],
    usage: dict[str, float] | None = None,
    answered: Sequence[int] = (),
    commands: Mapping[str, str] | None = None,
) -> Body:
    """A body within the service's limit of 1 MiB."""
    body: Body = {
        "session_id": session_id,
        "fence": fence,
        "outcome": outcome,
        "messages": fit(messages)[0],
        "given": list(given),
        "native_id": native_id,
        "summary": summary,
        **({"usage": usage} if usage else {}),
        **({"answered": list(answered)} if answered else {}),
        **({} if commands is None else {"commands": [{"name": one, "description": commands[one]} for one in commands]}),
    }
    return _fitting(_with_digest(body))


def digest_of(messages: Sequence[Message], given: Sequence[str]) -> str:
    """sha256 over the canonical JSON of both."""
    value = {"given": list(given), "messages": list(messages)}
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def smaller(body: Body) -> Body | None:
    """The same result with less: first less of what tools said, then no steps, then less of the reply. None at the end."""
    messages: list[Message] = body["messages"]
    shorter = [_short_tool(message) for message in messages]
    if shorter != messages:
        return _with_digest({**body, "messages": shorter})
    if len(messages) > 1:
        return _with_digest({**body, "messages": messages[-1:]})
    reply = str(messages[-1].get("content") or "")
    for limit in _SHORT_REPLY:
        if len(reply.encode("utf-8", "replace")) > limit:
            return _with_digest({**body, "messages": [{**messages[-1], "content": cut(reply, limit)}]})
    return None


def less(body: Body, *, is_too_large: bool) -> Body | None:
    """A result that the service may take in place of this one: a smaller one, then a failure. None if there is none."""
    if is_too_large and (shorter := smaller(body)):
        return shorter
    failed = _with_digest({**body, "outcome": "failed", "messages": [{"role": "assistant", "content": _NOT_TAKEN}]})
    return failed if failed["digest"] != body.get("digest") else None


def _fitting(body: Body) -> Body:
    while len(json.dumps(body)) > BODY_LIMIT and (less := smaller(body)):
        body = less
    return body


def _short_tool(message: Message) -> Message:
    """Less of what a tool said or was told."""
    if message["role"] == "tool":
        return {**message, "content": cut(str(message["content"]), _SHORT_TOOL)}
    calls = message.get("tool_calls")
    if not calls:
        return message
    return {**message, "tool_calls": [{**call, "function": _short_call(call["function"])} for call in calls]}


def _short_call(function: dict[str, Any]) -> dict[str, Any]:
    arguments = str(function["arguments"])
    if len(arguments) <= _SHORT_TOOL:
        return function
    return {**function, "arguments": json.dumps({"cut": arguments[: _SHORT_TOOL // 2]}, ensure_ascii=False)}


def _with_digest(body: Body) -> Body:
    return {**body, "digest": digest_of(body["messages"], body["given"])}
