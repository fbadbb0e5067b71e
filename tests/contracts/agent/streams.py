"""The providers' wire formats for an answer in pieces: server-sent events, and Amazon's event stream."""

import binascii
import json
import struct
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from tests.contracts.agent.dialects import BedrockDialect, Dialect, OpenAIDialect
from tests.support.servers import Request, Response


class StreamedDialect(Dialect, Protocol):
    """One that answers in pieces. `pieces` are a head, the words, one piece each, and the end in one or two."""

    def pieces(self, *words: str, stop: str = "done") -> list[bytes]: ...
    def trouble(self, kind: str) -> bytes: ...
    def refuses_to_stream(self) -> Response: ...


class StreamedOpenAIDialect(OpenAIDialect):
    """Chat completions with `stream: true`, with what real servers send between the words."""

    def says(self, text: str, *, stop: str = "done") -> Response:
        half = len(text) // 2
        return Response(200, b"".join(self.pieces(text[:half], text[half:], stop=stop)), _EVENTS)

    def pieces(self, *words: str, stop: str = "done") -> list[bytes]:
        head = sse({"choices": [], "prompt_filter_results": []}) + chunk({"role": "assistant", "content": ""})
        said = [b": keep-alive\n\n" + chunk({"content": text}) for text in words]
        function = {"name": "search", "arguments": "{}"}
        call = chunk({"tool_calls": [{"index": 0, "id": "x", "type": "function", "function": function}]})
        end = chunk({}, self._STOPS[stop]) + sse({"choices": [], "usage": {"total_tokens": 2}})
        return [head, *said, (call if stop == "tool" else b"") + end + b"data: [DONE]\n\n"]

    def trouble(self, kind: str) -> bytes:
        status, words, _ = self._ERRORS[kind]
        return b"event: error\n" + sse({"error": {"message": words, "code": status}})

    def refuses_to_stream(self) -> Response:
        words = "Your organization must be verified to stream this model."
        return Response(400, json.dumps({"error": {"message": words, "param": "stream"}}).encode())

    def problem(self, request: Request) -> str | None:
        if request.json.get("stream") is not True or set(request.json) != {"model", "messages", "stream"}:
            return f"unknown parameters {set(request.json)}"
        return self.problem_with(request)


class StreamedBedrockDialect(BedrockDialect):
    """ConverseStream: binary messages with a checksum."""

    call = "converse-stream"
    _EXCEPTIONS: ClassVar = {
        "rate_limited": "throttlingException",
        "overloaded": "serviceUnavailableException",
        "broken": "modelStreamErrorException",
        "refused": "validationException",
    }

    def says(self, text: str, *, stop: str = "done") -> Response:
        half = len(text) // 2
        *said, _usage = self.pieces(text[:half], text[half:], stop=stop)  # what is cut off after the end is no loss
        return Response(200, b"".join(said), _BINARY)

    def pieces(self, *words: str, stop: str = "done") -> list[bytes]:
        head = event("messageStart", {"role": "assistant"})
        said = [event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": text}}) for text in words]
        end = event("messageStop", {"stopReason": self._STOPS[stop]})
        usage = {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}}
        return [head, *said, event("contentBlockStop", {"contentBlockIndex": 0}) + end, event("metadata", usage)]

    def trouble(self, kind: str) -> bytes:
        return event(self._EXCEPTIONS[kind], {"message": "SECRET"}, is_exception=True)

    def refuses_to_stream(self) -> Response:
        headers = {"x-amzn-errortype": "ValidationException"}
        return Response(400, b'{"message": "The model is unsupported for streaming."}', headers)


_EVENTS = {"content-type": "text/event-stream"}
_BINARY = {"content-type": "application/vnd.amazon.eventstream"}


def sse(value: Any) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


def chunk(delta: Any, reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return sse({"id": "c1", "object": "chat.completion.chunk", "choices": [choice]})


def event(name: str, value: Any, *, is_exception: bool = False) -> bytes:
    """One message of Amazon's event stream."""
    kind = "exception" if is_exception else "event"
    headers = _headers(
        [(":message-type", kind), (f":{kind}-type", name), (":content-type", "application/json")],
    )
    payload = json.dumps(value).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack("!I", binascii.crc32(prelude)) + headers + payload
    return message + struct.pack("!I", binascii.crc32(message))


def _headers(pairs: Sequence[tuple[str, str]]) -> bytes:
    text = 7
    return b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", text, len(value)) + value.encode()
        for name, value in pairs
    )
