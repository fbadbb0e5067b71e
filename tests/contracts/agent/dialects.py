"""The providers' wire formats: answers, errors, and what a request contained."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from tests.support.servers import Request, Response

Line = tuple[str, str]  # role, words; a tool's result is ("tool", …), a call ("call", name)


class Dialect(Protocol):
    """One provider's side of the conversation."""

    name: str

    def says(self, text: str, *, stop: str = "done") -> Response: ...
    def error(self, kind: str, *, after: str | None = None) -> Response: ...
    def told(self, request: Request) -> list[Line]: ...
    def instructions(self, request: Request) -> str: ...
    def problem(self, request: Request) -> str | None: ...
    def answer(self, request: Request, text: str) -> Response: ...


def _response(status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
    return Response(status, json.dumps(body).encode(), headers or {})


class OpenAIDialect:
    """Chat completions, checked like the strictest chat template."""

    name = "openai"
    _STOPS: ClassVar = {"done": "stop", "length": "length", "filter": "content_filter", "tool": "tool_calls"}
    _ERRORS: ClassVar = {
        "rate_limited": (429, "Rate limit reached for requests", "rate_limit_exceeded"),
        "overloaded": (503, "The engine is currently overloaded", "overloaded"),
        "broken": (500, "The server had an error", "server_error"),
        "bad_key": (401, "Incorrect API key provided: SECRET. Find yours elsewhere.", "invalid_api_key"),
        "unknown_model": (404, "The model `m` does not exist", "model_not_found"),
        "too_long": (400, "This model's maximum context length is 100 tokens", "context_length_exceeded"),
        "refused": (400, "Unsupported value SECRET", "invalid_request_error"),
    }

    def says(self, text: str, *, stop: str = "done") -> Response:
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if stop == "tool":
            function = {"name": "search", "arguments": "{}"}
            message["tool_calls"] = [{"id": "x", "type": "function", "function": function}]
        choice = {"index": 0, "finish_reason": self._STOPS[stop], "message": message}
        return _response(200, {"id": "c1", "object": "chat.completion", "choices": [choice]})

    def error(self, kind: str, *, after: str | None = None) -> Response:
        status, words, code = self._ERRORS[kind]
        headers = {"retry-after": after} if after else {}
        return _response(status, {"error": {"message": words, "type": "error", "code": code}}, headers)

    def told(self, request: Request) -> list[Line]:
        return _told(request.json["messages"])

    def instructions(self, request: Request) -> str:
        first = request.json["messages"][0]
        return str(first["content"]) if first["role"] == "system" else ""

    def problem(self, request: Request) -> str | None:
        if set(request.json) - {"stream"} != {"model", "messages"}:
            return f"unknown parameters {set(request.json)}"
        return self.problem_with(request)

    def problem_with(self, request: Request) -> str | None:
        if request.path != "/v1/chat/completions":
            return f"no such path {request.path}"
        return _problem_with(request.json["messages"])

    def answer(self, request: Request, text: str) -> Response:
        problem = self.problem(request)
        return _response(400, {"error": {"message": problem}}) if problem else self.says(text)


class HttpDialect:
    """The contract of docs/agents.md."""

    name = "http"
    _ERRORS: ClassVar = {
        "rate_limited": (429, None),
        "overloaded": (503, None),
        "broken": (500, None),
        "bad_key": (401, "bad signature for SECRET"),
        "too_long": (413, None),
        "refused": (422, "I cannot do that with SECRET"),
    }

    def says(self, text: str, *, stop: str = "done") -> Response:
        assert stop == "done", "this contract knows no other end"
        return _response(200, {"text": text})

    def error(self, kind: str, *, after: str | None = None) -> Response:
        status, words = self._ERRORS[kind]
        return _response(status, {"error": words}, {"retry-after": after} if after else {})

    def told(self, request: Request) -> list[Line]:
        return _told(request.json["messages"])

    def instructions(self, request: Request) -> str:
        return str(request.json["note"] or "")

    def problem(self, request: Request) -> str | None:
        if set(request.json) != {"messages", "note", "deadline", "idempotency_key"}:
            return f"unknown parameters {set(request.json)}"
        return _problem_with(request.json["messages"])

    def answer(self, request: Request, text: str) -> Response:
        problem = self.problem(request)
        return _response(400, {"error": problem}) if problem else self.says(text)


class BedrockDialect:
    """Converse over REST and JSON."""

    name = "bedrock"
    call = "converse"
    _STOPS: ClassVar = {"done": "end_turn", "length": "max_tokens", "filter": "content_filtered", "tool": "tool_use"}
    _ERRORS: ClassVar = {
        "rate_limited": (429, "ThrottlingException", "Too many requests"),
        "overloaded": (503, "ServiceUnavailableException", "Try again"),
        "broken": (500, "InternalServerException", "Oh"),
        "bad_key": (403, "AccessDeniedException", "You don't have access to the model SECRET"),
        "unknown_model": (400, "ValidationException", "The provided model identifier is invalid."),
        "too_long": (400, "ValidationException", "Input is too long for requested model."),
        "refused": (400, "ValidationException", "Something else is wrong"),
    }

    def says(self, text: str, *, stop: str = "done") -> Response:
        blocks: list[dict[str, Any]] = [{"text": text}] if text else []
        if stop == "tool":
            blocks.append({"toolUse": {"toolUseId": "x", "name": "search", "input": {}}})
        return _response(
            200,
            {
                "output": {"message": {"role": "assistant", "content": blocks}},
                "stopReason": self._STOPS[stop],
                "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
                "metrics": {"latencyMs": 1},
            },
        )

    def error(self, kind: str, *, after: str | None = None) -> Response:
        status, code, words = self._ERRORS[kind]
        headers = {"x-amzn-errortype": code} | ({"retry-after": after} if after else {})
        return _response(status, {"message": words}, headers)

    def told(self, request: Request) -> list[Line]:
        lines: list[Line] = [("system", block["text"]) for block in request.json.get("system", ())]
        for message in request.json["messages"]:
            lines += [_block(message["role"], block) for block in message["content"]]
        return lines

    def instructions(self, request: Request) -> str:
        return "\n".join(block["text"] for block in request.json.get("system", ()))

    def problem(self, request: Request) -> str | None:
        if request.path != f"/model/some.model-v1%3A0/{self.call}":
            return f"no such path {request.path}"
        messages = request.json["messages"]
        roles = [message["role"] for message in messages]
        if roles != (["user", "assistant"] * len(roles))[: len(roles)] or roles[-1] != "user":
            return f"roles must alternate: {roles}"
        blocks = [block for message in messages for block in message["content"]]
        if any(not block.get("text", "x").strip() for block in blocks):
            return "the text field is blank"
        if any("text" not in block for block in blocks) and not request.json.get("toolConfig"):
            return "The toolConfig field must be defined when using toolUse and toolResult content blocks."
        return _unpaired(messages)

    def answer(self, request: Request, text: str) -> Response:
        problem = self.problem(request)
        refused = {"x-amzn-errortype": "ValidationException"}
        return _response(400, {"message": problem}, refused) if problem else self.says(text)


def _block(role: str, block: Mapping[str, Any]) -> Line:
    if "toolUse" in block:
        return ("call", block["toolUse"]["name"])
    if "toolResult" in block:
        return ("tool", "".join(part["text"] for part in block["toolResult"]["content"]))
    return (role, block["text"])


def _unpaired(messages: Sequence[Mapping[str, Any]]) -> str | None:
    asked: list[str] = []
    for message in messages:
        answered = [block["toolResult"]["toolUseId"] for block in message["content"] if "toolResult" in block]
        if answered != asked:
            return f"tool results {answered} do not answer the calls {asked}"
        asked = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
    return "a tool call is not answered" if asked else None


def _told(messages: Sequence[Mapping[str, Any]]) -> list[Line]:
    lines: list[Line] = []
    for message in messages:
        if message["content"] is not None:
            lines.append((message["role"], message["content"]))
        lines += [("call", call["function"]["name"]) for call in message.get("tool_calls", ())]
    return lines


def _problem_with(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Why the strictest OpenAI-compatible server would reject these messages, or None."""
    expected: list[str] = []
    allowed = {"system", "user"}
    for message in messages:
        role, calls = message["role"], message.get("tool_calls", ())
        if set(message) - {"role", "content", "tool_calls", "tool_call_id"}:
            return f"unknown keys {set(message)}"
        if role not in allowed:
            return f"{role} where only {allowed} may speak"
        if role == "tool" and message["tool_call_id"] != expected.pop(0):
            return "a tool message must answer its tool call"
        if not calls and not message["content"].strip():
            return "an empty message"
        expected = expected or [call["id"] for call in calls]
        allowed = {"tool"} if expected else _NEXT[role]
    return None if messages[-1]["role"] in ("user", "tool") and not expected else "the last word is the assistant's"


_NEXT = {"system": {"user"}, "user": {"assistant"}, "assistant": {"user"}, "tool": {"assistant", "user"}}
