"""The HTTP agent's contract: signature, deadline and idempotency key."""

import hashlib
import hmac
from collections.abc import Iterator

import pytest

from shared.agents.http.agent import HttpAgent
from shared.domain.messages import Message
from shared.errors import AgentFailed, AgentUnavailable
from tests.contracts.agent.contract import KEY, HurriedClock, assistant, settings, user
from tests.contracts.agent.dialects import HttpDialect
from tests.support.secrets import FakeSecrets
from tests.support.servers import HttpServer, Response

DIALECT = HttpDialect()


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with HttpServer() as running:
        running.script = [DIALECT.says("hi")]
        yield running


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def agent(server: HttpServer, clock: HurriedClock) -> HttpAgent:
    return HttpAgent(settings(agent_url=f"{server.url}/turn"), FakeSecrets({"agent/key": KEY}), clock)


def ask(agent: HttpAgent, clock: HurriedClock, *messages: Message, note: str | None = None) -> str:
    return agent.reply(clock.turn(*messages, note=note))


def test_the_signature_covers_the_time_and_every_byte(
    agent: HttpAgent, server: HttpServer, clock: HurriedClock
) -> None:
    ask(agent, clock, user("hallo 👋"))
    (request,) = server.requests
    timestamp = request.headers["x-handoff-timestamp"]
    expected = hmac.new(KEY.encode(), timestamp.encode() + b"." + request.body, hashlib.sha256).hexdigest()
    assert request.headers["x-handoff-signature"] == f"sha256={expected}"
    assert abs(int(timestamp) - clock.now() / 1000) < 10


def test_the_key_itself_is_never_sent(agent: HttpAgent, server: HttpServer, clock: HurriedClock) -> None:
    ask(agent, clock)
    (request,) = server.requests
    assert KEY not in f"{request.headers} {request.body!r} {request.path}"


def test_the_body_is_the_documented_one(agent: HttpAgent, server: HttpServer, clock: HurriedClock) -> None:
    ask(agent, clock, {"role": "system", "content": "Be kind."}, user("hello"), note="You were interrupted.")
    body = server.requests[0].json
    assert body["messages"] == [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hello"}]
    assert body["note"] == "You were interrupted."
    assert abs(body["deadline"] - clock.now()) < 70_000
    assert body["idempotency_key"] == server.requests[0].headers["idempotency-key"]


def test_a_turn_that_is_tried_again_keeps_its_key(agent: HttpAgent, server: HttpServer, clock: HurriedClock) -> None:
    server.script = [DIALECT.error("broken"), DIALECT.says("hi")]
    ask(agent, clock, user("hello"))
    ask(agent, clock, user("hello"), note="The last turn was interrupted.")
    ask(agent, clock, user("hello"), assistant("hi"), user("hello"))
    ask(agent, clock, {**user("hello"), "id": "of another session"})
    keys = [request.json["idempotency_key"] for request in server.requests]
    assert keys[0] == keys[1] == keys[2]
    assert len(set(keys)) == 3


def test_each_try_is_signed_again(agent: HttpAgent, server: HttpServer, clock: HurriedClock) -> None:
    server.script = [DIALECT.error("rate_limited", after="5"), DIALECT.says("hi")]
    ask(agent, clock)
    first, second = (int(request.headers["x-handoff-timestamp"]) for request in server.requests)
    assert second - first in (5, 6)


@pytest.mark.parametrize("known", [{}, {"agent/key": " "}])
def test_without_a_key_nothing_is_sent(server: HttpServer, clock: HurriedClock, known: dict[str, str]) -> None:
    with pytest.raises(AgentFailed, match="agent/key"):
        ask(HttpAgent(settings(agent_url=server.url), FakeSecrets(known), clock), clock)
    assert server.requests == []


def test_without_an_address_it_says_so(clock: HurriedClock) -> None:
    with pytest.raises(AgentFailed, match="HANDOFF_AGENT_URL"):
        ask(HttpAgent(settings(), FakeSecrets({"agent/key": KEY}), clock), clock)


def test_a_proxy_is_not_used_for_this_machine(
    agent: HttpAgent, clock: HurriedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
    assert ask(agent, clock) == "hi"


def test_its_own_words_for_not_answering_reach_the_person(
    agent: HttpAgent, server: HttpServer, clock: HurriedClock
) -> None:
    server.script = [Response(422, f'{{"error": "Your plan is over, {KEY}"}}'.encode())]
    with pytest.raises(AgentFailed) as caught:
        ask(agent, clock)
    assert str(caught.value) == "The agent could not answer: Your plan is over, ***."


def test_still_at_work_is_worth_another_try(agent: HttpAgent, server: HttpServer, clock: HurriedClock) -> None:
    server.script = [Response(409, b"{}", {"retry-after": "30"})]
    with pytest.raises(AgentUnavailable) as caught:
        ask(agent, clock)
    assert caught.value.after == 30


@pytest.mark.parametrize("body", [b"[]", b'{"reply": "hi"}', b'{"text": 3}'])
def test_an_answer_of_another_shape_is_told(
    agent: HttpAgent, server: HttpServer, clock: HurriedClock, body: bytes
) -> None:
    server.script = [Response(200, body)]
    with pytest.raises(AgentFailed, match=r"docs/agents\.md"):
        ask(agent, clock)
