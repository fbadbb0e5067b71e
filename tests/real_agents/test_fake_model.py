"""The fake model answers in the wire formats of the real ones."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.fake_model.server import FakeModel

TOOLS: dict[str, list[dict[str, Any]]] = {
    "anthropic": [{"name": "Bash", "input_schema": {}}],
    "responses": [{"type": "function", "name": "exec_command"}],
    "chat": [{"type": "function", "function": {"name": "bash"}}],
}
PATHS = {"anthropic": "/v1/messages", "responses": "/v1/responses", "chat": "/v1/chat/completions"}
EVERY_API = pytest.mark.parametrize("api", PATHS)


@pytest.fixture
def client(model: FakeModel) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=model.url, timeout=20) as made:
        yield made


def _body(api: str, *words: str, tools: bool = True, stream: bool = True) -> dict[str, Any]:
    messages = [{"role": "user", "content": text} for text in words]
    return {"stream": stream, "input" if api == "responses" else "messages": messages} | (
        {"tools": TOOLS[api]} if tools else {}
    )


def _events(client: httpx.Client, api: str, *words: str) -> list[dict[str, Any]]:
    answer = client.post(PATHS[api], json=_body(api, *words))
    assert answer.headers["content-type"] == "text/event-stream"
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


@EVERY_API
def test_an_answer_shows_all_that_was_said(api: str, client: httpx.Client, model: FakeModel) -> None:
    assert "You said: one | two" in json.dumps(_events(client, api, "one", "two"))
    assert [call.said for call in model.calls] == [["one", "two"]]


@EVERY_API
def test_words_can_ask_for_a_command(api: str, client: httpx.Client) -> None:
    events = json.dumps(_events(client, api, "please\nrun: ls -l"))
    assert "ls -l" in events
    assert TOOLS[api][0].get("name", "bash") in events


@EVERY_API
def test_a_request_without_tools_is_a_background_call(api: str, client: httpx.Client, model: FakeModel) -> None:
    client.post(PATHS[api], json=_body(api, "a title, please", tools=False))
    assert (len(model.calls), len(model.background)) == (0, 1)


def test_a_suggestion_is_a_background_call(client: httpx.Client, model: FakeModel) -> None:
    client.post(PATHS["anthropic"], json=_body("anthropic", "hello", "[SUGGESTION MODE: what next?]"))
    assert (len(model.calls), len(model.background)) == (0, 1)


@pytest.mark.parametrize("api", ["anthropic", "chat"])
def test_an_answer_can_come_in_one_piece(api: str, client: httpx.Client) -> None:
    assert "You said: one" in client.post(PATHS[api], json=_body(api, "one", stream=False)).text


@EVERY_API
def test_a_held_answer_ends_when_it_is_released(api: str, client: httpx.Client, model: FakeModel) -> None:
    with client.stream("POST", PATHS[api], json=_body(api, "hold")) as answer:
        pieces = answer.iter_text()
        seen = next(pieces)
        while "still there" not in seen:
            seen += next(pieces)
        assert "One moment" in seen
        model.going_on.set()
        rest = "".join(pieces)
    assert any(end in rest for end in ("message_stop", "response.completed", "[DONE]"))
