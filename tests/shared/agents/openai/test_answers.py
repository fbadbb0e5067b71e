"""Answers of real OpenAI-compatible endpoints."""

import json
from typing import Any

import pytest

from shared.agents.attempts import ProviderBusy, TooLong, ToolsRefused
from shared.agents.http_client import HttpResponse
from shared.agents.openai.agent import OpenAIAgent
from shared.agents.openai.answers import read_completion
from shared.errors import AgentFailed
from tests.contracts.agent.contract import KEY, HurriedClock, settings
from tests.contracts.agent.dialects import OpenAIDialect
from tests.support.secrets import FakeSecrets
from tests.support.servers import HttpServer


def read(body: Any, status: int = 200) -> str:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_completion(HttpResponse(status, {}, raw), model="m", key=KEY, now=0)


def says(**message: Any) -> dict[str, Any]:
    return {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", **message}}]}


def test_words_may_come_in_parts() -> None:
    assert read(says(content=[{"type": "text", "text": "one"}, {"type": "text", "text": "two"}])) == "one\ntwo"


def test_words_beside_a_tool_call_are_the_answer() -> None:
    assert read(says(content="I would search.", tool_calls=[{}])) == "I would search."


def test_a_refusal_is_told_in_the_models_words() -> None:
    with pytest.raises(AgentFailed, match=r"declined to answer: I can't help with that\. "):
        read(says(content=None, refusal="I can't help with that."))


@pytest.mark.parametrize(
    ("status", "body", "raised"),
    [
        (429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}, AgentFailed),
        (429, {"error": {"message": "Rate limit", "code": "rate_limit_exceeded"}}, ProviderBusy),
        (402, {"error": {"message": "Insufficient credits", "code": 402}}, AgentFailed),
        (400, {"object": "error", "message": "This model's maximum context length is 8192 tokens."}, TooLong),
        (400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}, TooLong),
        (400, {"error": {"message": "x", "code": "content_filter"}}, AgentFailed),
        (400, {"detail": [{"loc": ["body"], "msg": "bad"}]}, ToolsRefused),
        (500, {"error": {"code": 500, "message": "Jinja Exception: roles must alternate"}}, ToolsRefused),
        (500, {"error": "oh"}, ProviderBusy),
        (529, {"error": {"message": "Overloaded"}}, ProviderBusy),
        (502, b"<html>Bad gateway</html>", ProviderBusy),
        (404, b"404 page not found", AgentFailed),
        (301, b"", AgentFailed),
        (200, b"<html>Welcome</html>", AgentFailed),
        (200, b"", ProviderBusy),
        (200, {"error": {"code": 429, "message": "upstream is busy"}}, ProviderBusy),
        (200, {"error": {"code": 401, "message": "no"}}, AgentFailed),
        (200, {"error": "model is loading"}, ProviderBusy),
        (200, {"choices": []}, AgentFailed),
        (200, {"models": ["m"]}, AgentFailed),
        (200, ["what"], AgentFailed),
        (200, {"choices": [{"finish_reason": "error", "message": {"content": ""}}]}, ProviderBusy),
    ],
)
def test_every_way_of_not_answering_has_its_kind(status: int, body: Any, raised: type[Exception]) -> None:
    with pytest.raises(raised) as caught:
        read(body, status)
    assert type(caught.value) is raised


def test_an_unknown_model_is_named() -> None:
    with pytest.raises(AgentFailed, match=r"no model 'm'.*HANDOFF_AGENT_MODEL"):
        read({"error": {"message": "not found", "code": "model_not_found"}}, 404)


@pytest.mark.parametrize("told", [KEY, "sk-ab12****wxyz", "Bearer abc.def"])
def test_a_key_in_the_providers_words_is_blotted_out(told: str) -> None:
    with pytest.raises(ToolsRefused) as caught:
        read({"error": {"message": f"Cannot use {told} here"}}, 400)
    assert str(caught.value) == "The agent's provider rejected the request: Cannot use *** here."


@pytest.mark.parametrize(
    ("key", "header"), [(f" {KEY}\n", f"Bearer {KEY}"), ("", None), (None, None)], ids=["trimmed", "empty", "none"]
)
def test_the_key_is_sent_trimmed_or_not_at_all(key: str | None, header: str | None) -> None:
    with HttpServer() as server:
        server.script = [OpenAIDialect().says("hi")]
        secrets = FakeSecrets({"agent/key": key} if key is not None else {})
        clock = HurriedClock()
        agent = OpenAIAgent(settings(agent_url=f"{server.url}/v1/", agent_model="m"), secrets, clock)
        assert agent.reply(clock.turn()) == "hi"
        assert server.requests[0].headers.get("authorization") == header
        assert server.requests[0].path == "/v1/chat/completions"


@pytest.mark.parametrize("key", ["sk-ключ", "sk-one\nsk-two"])
def test_a_key_that_no_header_can_hold_is_not_quoted(key: str) -> None:
    clock = HurriedClock()
    agent = OpenAIAgent(
        settings(agent_url="http://127.0.0.1:1", agent_model="m"), FakeSecrets({"agent/key": key}), clock
    )
    with pytest.raises(AgentFailed, match="agent/key") as caught:
        agent.reply(clock.turn())
    assert "sk-" not in repr(caught.value)


@pytest.mark.parametrize("url", ["localhost:11434/v1", "ftp://127.0.0.1/", "http://[::1/v1", "/v1"])
def test_an_address_that_is_none_is_told(url: str) -> None:
    clock = HurriedClock()
    agent = OpenAIAgent(settings(agent_url=url, agent_model="m"), FakeSecrets({"agent/key": KEY}), clock)
    with pytest.raises(AgentFailed, match="HANDOFF_AGENT_URL"):
        agent.reply(clock.turn())


def test_a_redirect_takes_the_key_nowhere() -> None:
    with HttpServer() as server, HttpServer() as elsewhere:
        told = OpenAIDialect().says("hi")
        elsewhere.script = [told]
        server.script = [type(told)(307, b"", {"location": f"{elsewhere.url}/v1/chat/completions"})]
        clock = HurriedClock()
        agent = OpenAIAgent(
            settings(agent_url=f"{server.url}/v1", agent_model="m"), FakeSecrets({"agent/key": KEY}), clock
        )
        with pytest.raises(AgentFailed, match="HANDOFF_AGENT_URL"):
            agent.reply(clock.turn())
        assert elsewhere.requests == []
