"""Streams of real OpenAI-compatible endpoints, and of broken ones."""

import contextlib
import json
from typing import Any

import pytest

from shared.agents.attempts import EmptyAnswer, ProviderBusy, ToolsRefused
from shared.agents.http_client import HttpResponse
from shared.agents.openai.answers import read_completion
from shared.agents.openai.stream import CompletionStream, is_stream
from shared.errors import AgentError, AgentFailed
from tests.contracts.agent.contract import KEY
from tests.contracts.agent.streams import StreamedOpenAIDialect, chunk, sse
from tests.support.garbled_answers import lacking_fields, odd_fields

DONE = b"data: [DONE]\n\n"
END = chunk({}, "stop")


def read(*pieces: bytes) -> str:
    return read_completion(HttpResponse(200, {}, b"".join(pieces)), model="m", key=KEY, now=0)


def heard(*pieces: bytes) -> list[str]:
    told: list[str] = []
    stream = CompletionStream(told.append)
    for piece in pieces:
        stream.feed(piece)
    return told


@pytest.mark.parametrize(
    "body",
    [
        chunk({"content": "One"}) + END + DONE,
        chunk({"content": "One"}) + END,  # no [DONE]
        chunk({"content": "One"}) + DONE,  # no reason
        chunk({"content": "One"}, "stop"),  # words and reason in one
        chunk({"content": "One"}) + END + b"data: [DONE]",  # no last line end
        b": OPENROUTER PROCESSING\n\n" + chunk({"content": "One"}) + END + DONE,
        b"\n\n" + (chunk({"content": "One"}) + END + DONE).replace(b"\n", b"\r\n"),
        (chunk({"content": "One"}) + END + DONE).replace(b"\n\n", b"\n"),  # no blank lines
        (chunk({"content": "One"}) + END + DONE).replace(b"data: ", b"data:"),
        b"event: x\nid: 1\nretry: 5\n" + chunk({"content": "One"}) + END + DONE + chunk({"content": "late"}),
        sse({"choices": [{"index": 1, "delta": {"content": "other"}}]}) + chunk({"content": "One"}) + END,
        sse({"choices": [{"message": {"content": "One"}, "finish_reason": "stop"}]}),  # a whole completion as an event
        b"data: {\ndata: " + chunk({"content": "One"})[7:] + END,  # one event in two lines
        chunk({"content": [{"type": "thinking"}, {"type": "text", "text": "One"}]}) + END,
        chunk({"content": "One", "reasoning_content": "hm"}) + END,
        sse({"usage": {}}) + sse([1]) + sse(None) + chunk(None) + chunk({"content": "One"}) + END,
    ],
)
def test_every_dialect_of_a_stream_is_read(body: bytes) -> None:
    assert read(body) == "One"


def test_a_stream_is_heard_the_same_in_pieces_of_any_size() -> None:
    body = b"".join(StreamedOpenAIDialect().pieces("Grüße 👋🏽, ", "und mehr"))
    for size in (1, 2, 3, 7, 100, len(body)):
        pieces = [body[start : start + size] for start in range(0, len(body), size)]
        assert heard(*pieces)[-1] == "Grüße 👋🏽, und mehr", size


@pytest.mark.parametrize(
    ("body", "raised"),
    [
        (chunk({"content": "One"}), ProviderBusy),
        (chunk({"content": "One"})[:-9], ProviderBusy),
        (chunk({"content": "One"}) + b"data: {oh\n\n" + END + DONE, ProviderBusy),
        (b": keep-alive\n\n", ProviderBusy),
        (DONE, EmptyAnswer),
        (chunk({"content": "half"}) + sse({"error": {"code": 429, "message": "busy"}}), ProviderBusy),
        (sse({"error": "model is loading"}), ProviderBusy),
        (sse({"error": {"code": 401, "message": "no"}}), AgentFailed),
        (chunk({"refusal": "I won't."}) + END, AgentFailed),
        (chunk({"tool_calls": [{}]}) + chunk({}, "tool_calls"), ToolsRefused),
        (chunk({"content": "half"}) + chunk({}, "error"), ProviderBusy),
    ],
)
def test_every_way_of_not_answering_has_its_kind(body: bytes, raised: type[Exception]) -> None:
    with pytest.raises(raised) as caught:
        read(body)
    assert type(caught.value) is raised


def test_an_odd_chunk_raises_only_errors_of_the_port() -> None:
    whole = json.dumps({"id": "c", "choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]})
    answers = {**odd_fields(whole.encode()), **lacking_fields(whole.encode())}
    assert answers
    for name, answer in answers.items():
        with contextlib.suppress(AgentError, ProviderBusy, EmptyAnswer):
            assert isinstance(read(b"data: " + answer.body + b"\n\n", DONE), str), name


@pytest.mark.parametrize("body", [b"", b"  ", b'{"choices": []}', b'\n{"a":\n 1}', b"<html>data: </html>", b"\xff\xfe"])
def test_other_bodies_are_no_stream(body: bytes) -> None:
    assert not is_stream(body)
    assert heard(body) == []


def test_silence_counts_once_the_model_speaks_or_a_plain_body_begins() -> None:
    def begun(*pieces: Any) -> bool:
        stream = CompletionStream(lambda _: None)
        for piece in pieces:
            stream.feed(piece)
        return stream.has_begun

    assert not begun(b"  ")
    assert not begun(b": waiting\n\n", chunk({"role": "assistant", "content": ""}))
    assert begun(chunk({"content": "x"}))
    assert begun(b' {"ch', b'oices": [')
