"""The contract of every agent, and of every agent that calls a server."""

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from shared.agents.registry import spec_of
from shared.domain.messages import Message
from shared.errors import AgentError, AgentFailed, AgentUnavailable
from shared.ports.agents import Agent, Cancellation, TurnInput
from shared.settings import Settings
from tests.contracts.agent.dialects import Dialect
from tests.support.garbled_answers import MARK, garbled, lacking_fields, odd_fields
from tests.support.secrets import FakeSecrets
from tests.support.servers import HANG, TRICKLE, HttpServer, Response

KEY = "a-very-secret-key-0123456789"  # unlike any provider's, so that only knowing it can hide it
KICKOFF: Message = {"role": "user", "content": "Confirm briefly and summarise.", "internal": True}


class HurriedClock:
    """The real time plus the requested pauses, which are not slept."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def now(self) -> int:
        return int((time.time() + sum(self.pauses)) * 1000)

    def cancellation(self) -> Cancellation:
        """One whose pauses pass on this clock."""
        clock = self

        class Hurried(Cancellation):
            def wait(self, seconds: float) -> bool:
                clock.pauses.append(seconds)
                return self.is_cancelled

        return Hurried()

    def turn(self, *messages: Message, within: int = 60_000, **more: Any) -> TurnInput:
        """A turn on this clock that must end within so many milliseconds; it says hello if nothing else."""
        given: dict[str, Any] = {"deadline": self.now() + within, "cancellation": self.cancellation()} | more
        return TurnInput(messages or [user("hello")], **given)


def settings(**changes: Any) -> Settings:
    return Settings(handoffs_table="handoffs", sessions_table="sessions", turns_queue_url="queue", **changes)


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def tool_use(name: str, **results: str) -> list[Message]:
    """One message that calls a tool, once for each of `results` by id, and the results."""
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps({"q": call_id})}}
        for call_id in results
    ]
    answers = [{"role": "tool", "tool_call_id": call_id, "content": result} for call_id, result in results.items()]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *answers]


def long_transcript(count: int = 400) -> list[Message]:
    """A system message, a round with two tool calls at once, then rounds with one, up to `count` (a multiple of four)."""
    messages: list[Message] = [{"role": "system", "content": "Be brief."}]
    messages += [user("both"), *tool_use("search", a="result a", b="result b"), assistant("both found")]
    while len(messages) < count - 2:
        at = len(messages)
        messages += [user(f"question {at}"), *tool_use("search", x=f"result {at}"), assistant(f"answer {at}")]
    messages += [user("the last question"), assistant("the last answer")]
    assert len(messages) == count
    return messages


class ListeningAgent:
    """An agent that is always asked for its progress; `heard` is what it reported."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.heard: list[str] = []

    def reply(self, turn: TurnInput) -> str:
        def hear(text: str) -> None:
            self.heard.append(text)
            if turn.progress:
                turn.progress(text)

        return self.agent.reply(replace(turn, progress=hear))


class AgentContract:
    """For every agent: the test class provides `agent`, and `slow_agent`, which does not answer in time."""

    @pytest.fixture
    def clock(self) -> HurriedClock:
        return HurriedClock()

    def test_an_answer_has_words(self, agent: Agent, clock: HurriedClock) -> None:
        assert agent.reply(clock.turn()).strip()

    def test_one_who_listens_gets_the_same_answer(self, agent: Agent, clock: HurriedClock) -> None:
        listening = ListeningAgent(agent)
        answer = listening.reply(clock.turn())
        assert answer == agent.reply(clock.turn())
        assert all(words.strip() and words in answer for words in listening.heard)

    def test_the_transcript_it_is_given_stays_as_it_was(self, agent: Agent, clock: HurriedClock) -> None:
        messages = [*long_transcript(40), KICKOFF]
        before = json.dumps(messages)
        agent.reply(clock.turn(*messages, note="a note"))
        assert json.dumps(messages) == before

    def test_a_deadline_in_the_past_is_worth_another_try(self, slow_agent: Agent, clock: HurriedClock) -> None:
        with pytest.raises(AgentUnavailable):
            slow_agent.reply(clock.turn(within=-1))

    def test_a_slow_one_gives_up_at_the_deadline(self, slow_agent: Agent, clock: HurriedClock) -> None:
        deadline = clock.now() + 400
        with pytest.raises(AgentUnavailable):
            slow_agent.reply(clock.turn(deadline=deadline))
        assert clock.now() < deadline + 2_000


class RemoteAgentContract(AgentContract):
    """For every agent that calls a server; the test server checks requests as strictly as the real one."""

    dialect: Dialect
    kinds_that_fail: tuple[str, ...] = ("bad_key", "unknown_model", "refused")

    @pytest.fixture
    def make(self, server: HttpServer, clock: HurriedClock) -> Callable[..., Agent]:
        def make(**changes: Any) -> Agent:
            given = {"agent": self.dialect.name, "agent_url": server.url, "agent_model": "some.model-v1:0"} | changes
            if self.dialect.name == "openai":
                given["agent_url"] += "/v1"
            known = settings(**given)
            module, _, name = spec_of(self.dialect.name).adapter.partition(":")
            made: Agent = getattr(import_module(module), name)(known, FakeSecrets({"agent/key": KEY}), clock)
            return self.prepared(made)

        return make

    def prepared(self, agent: Agent) -> Agent:
        """The agent as the tests ask it."""
        return agent

    @pytest.fixture
    def agent(self, make: Callable[..., Agent], server: HttpServer) -> Agent:
        server.script = [lambda request: self.dialect.answer(request, "a fine answer")]
        return make()

    @pytest.fixture
    def slow_agent(self, make: Callable[..., Agent], server: HttpServer) -> Agent:
        server.script = [HANG]
        return make()

    def ask(self, agent: Agent, clock: HurriedClock, messages: list[Message] | None = None, **more: Any) -> str:
        return agent.reply(clock.turn(*messages or (), **more))

    def test_the_kickoff_sends_all_400_messages_in_order(
        self, agent: Agent, server: HttpServer, clock: HurriedClock
    ) -> None:
        transcript = long_transcript(400)
        assert self.ask(agent, clock, [*transcript, KICKOFF]) == "a fine answer"
        (request,) = server.requests
        expected = []
        for message in transcript:
            calls = message.get("tool_calls", ())
            expected += [("call", "search") for _ in calls] or [(message["role"], message["content"])]
        assert self.dialect.told(request) == [*expected, ("user", KICKOFF["content"])]

    def test_what_was_stored_beside_the_words_stays_here(
        self, agent: Agent, server: HttpServer, clock: HurriedClock
    ) -> None:
        odd = {"role": "user", "content": "hello", "sender": "PRIVATE", "internal": True, "cost": {"x": "PRIVATE"}}
        self.ask(agent, clock, [odd])
        assert b"PRIVATE" not in server.requests[0].body
        assert b"internal" not in server.requests[0].body

    def test_a_broken_transcript_is_mended_before_it_is_sent(
        self, agent: Agent, server: HttpServer, clock: HurriedClock
    ) -> None:
        messages: list[Message] = [
            assistant("I begin"),
            {"role": "tool", "tool_call_id": "unknown", "content": "orphan"},
            {"role": "system", "content": "a rule in the middle"},
            *tool_use("search", call_0="found"),
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "call_0", "function": {"name": "rm -rf", "arguments": "{"}}],
            },
            user(""),
            user("one"),
            {"role": "user", "content": [{"type": "text", "text": "two"}, {"type": "image_url", "image_url": {}}]},
        ]
        assert self.ask(agent, clock, messages) == "a fine answer"
        words = json.dumps(self.dialect.told(server.requests[0]))
        for said in (
            "I begin",
            "orphan",
            "a rule in the middle",
            "found",
            "rm_-rf",
            "interrupted",
            "one",
            "two",
            "[image_url]",
        ):
            assert said in words

    def test_the_note_reaches_the_agent(self, agent: Agent, server: HttpServer, clock: HurriedClock) -> None:
        self.ask(agent, clock, note="the last turn was interrupted")
        assert "the last turn was interrupted" in self.dialect.instructions(server.requests[0])

    def test_a_small_window_keeps_the_newest_and_notes_the_rest(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        server.script = [lambda request: self.dialect.answer(request, "fits")]
        transcript = long_transcript(400)
        assert self.ask(make(agent_window=2_000), clock, [*transcript, KICKOFF]) == "fits"
        told = [line for line in self.dialect.told(server.requests[0]) if line[0] != "system"]
        words = [text for role, text in told if role != "call"]
        assert words[-2:] == ["the last answer", KICKOFF["content"]]
        kept = len([line for line in told if not line[1].startswith("(")])
        assert 10 < kept < 200
        left_out = len([*transcript[1:], KICKOFF]) - kept  # one line each: the system message is none of them
        assert f"The {left_out} oldest messages were left out" in self.dialect.instructions(server.requests[0])

    def test_a_model_that_finds_it_too_long_gets_less(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        server.script = [self.dialect.error("too_long"), lambda request: self.dialect.answer(request, "fits")]
        assert self.ask(make(), clock, long_transcript(400)) == "fits"
        first, second = server.requests
        assert len(second.body) < len(first.body)
        assert "were left out" in self.dialect.instructions(second)

    def test_one_message_that_is_too_long_fails_in_clear_words(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        server.script = [self.dialect.error("too_long")]
        with pytest.raises(AgentFailed, match="longer than"):
            self.ask(make(), clock)
        assert len(server.requests) == 1

    def test_a_rate_limit_is_waited_out_as_asked(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        server.script = [self.dialect.error("rate_limited", after="7"), self.dialect.says("at last")]
        assert self.ask(make(), clock) == "at last"
        assert clock.pauses == [7.0]

    def test_a_rate_limit_beyond_the_deadline_is_left_to_the_queue(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        server.script = [self.dialect.error("rate_limited", after="9")]
        with pytest.raises(AgentUnavailable) as caught:
            self.ask(make(), clock, deadline=clock.now() + 8_000)
        assert caught.value.after == 9.0
        assert clock.pauses == []

    def test_a_long_rate_limit_is_not_slept_out_in_a_function(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        server.script = [self.dialect.error("rate_limited", after="120")]
        with pytest.raises(AgentUnavailable) as caught:
            self.ask(make(), clock, deadline=clock.now() + 600_000)
        assert caught.value.after == 120.0
        assert len(server.requests) == 1

    @pytest.mark.parametrize("kind", ["rate_limited", "overloaded", "broken"])
    def test_trouble_that_stays_is_tried_three_times(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock, kind: str
    ) -> None:
        server.script = [self.dialect.error(kind)]
        with pytest.raises(AgentUnavailable):
            self.ask(make(), clock)
        assert len(server.requests) == 3
        assert clock.pauses == [0.5, 1.0]

    def test_an_answer_that_breaks_off_is_asked_for_again(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        whole = self.dialect.says("whole").body
        server.script = [Response(200, whole[:20], declared=len(whole)), self.dialect.says("whole")]
        assert self.ask(make(), clock) == "whole"

    def test_half_an_answer_with_status_200_is_retried(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        server.script = [Response(200, self.dialect.says("whole").body[:20]), self.dialect.says("whole")]
        assert self.ask(make(), clock) == "whole"

    def test_a_garbled_answer_is_an_error_of_the_port(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        whole = self.dialect.says("whole").body
        agent = make()
        for way, answer in garbled(whole).items():
            server.script = [answer]
            with pytest.raises(AgentUnavailable if way.startswith("5") else AgentError) as caught:
                self.ask(agent, clock)
            assert MARK not in str(caught.value), way
        assert MARK not in caplog.text

    def test_an_odd_field_raises_only_errors_of_the_port(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        """Fields that are not read may be anything, and a text may be in parts."""
        whole = self.dialect.says("whole").body
        agent = make()
        for answer in (*odd_fields(whole).values(), *lacking_fields(whole).values()):
            server.script = [answer]
            with contextlib.suppress(AgentError):
                assert isinstance(self.ask(agent, clock), str)

    def test_a_server_that_is_not_there_is_worth_another_try(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        agent = make()
        server.stop()
        with pytest.raises(AgentUnavailable):
            self.ask(agent, clock)

    def test_permanent_errors_fail_at_once_and_name_no_key(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        for kind in self.kinds_that_fail:
            told = self.dialect.error(kind)
            server.script = [Response(told.status, told.body.replace(b"SECRET", KEY.encode()), told.headers)]
            server.requests.clear()
            with pytest.raises(AgentFailed) as caught:
                self.ask(make(), clock)
            assert len(server.requests) == 1, kind
            assert KEY not in f"{caught.value!r} {caught.value.__cause__!r}", kind
        assert KEY not in caplog.text

    def test_words_and_key_stay_out_of_the_log(
        self, agent: Agent, clock: HurriedClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        self.ask(agent, clock, [user("something private")])
        assert "something private" not in caplog.text
        assert "a fine answer" not in caplog.text
        assert KEY not in caplog.text

    def test_nothing_said_is_asked_once_more_and_then_told(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        server.script = [self.dialect.says("  "), self.dialect.says("now")]
        assert self.ask(make(), clock) == "now"
        server.script = [self.dialect.says("")]
        with pytest.raises(AgentFailed, match="empty answer"):
            self.ask(make(), clock)

    def test_ten_turns_at_once_get_their_own_answers(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        together = threading.Barrier(10, timeout=20)

        def echo(request: Any) -> Response:
            together.wait()
            return self.dialect.says(self.dialect.told(request)[-1][1])

        server.script = [echo]
        agent, answers = make(), {}
        threads = [
            threading.Thread(target=lambda n=n: answers.update({n: self.ask(agent, clock, [user(f"number {n}")])}))
            for n in range(10)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
        assert answers == {n: f"number {n}" for n in range(10)}


class ModelContract(RemoteAgentContract):
    """For agents that call a model: early stops, and tool calls without tools."""

    @pytest.mark.parametrize(("stop", "words"), [("length", "cut off"), ("filter", "content filter")])
    def test_words_that_end_early_say_so_outside_of_their_code(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock, stop: str, words: str
    ) -> None:
        server.script = [self.dialect.says("Look:\n```python\nx = 1", stop=stop)]
        reply = self.ask(make(), clock)
        code, _, rest = reply.removeprefix("Look:\n```python\n").partition("\n```")
        assert code == "x = 1"
        assert words in rest

    @pytest.mark.parametrize(("stop", "words"), [("length", "before it wrote an answer"), ("filter", "content filter")])
    def test_no_words_at_all_are_explained(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock, stop: str, words: str
    ) -> None:
        server.script = [self.dialect.says("", stop=stop)]
        with pytest.raises(AgentFailed, match=words):
            self.ask(make(), clock)

    def test_a_model_without_tools_gets_the_calls_in_words(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        messages = [user("find it"), *tool_use("search", call_1="found it"), user("and?")]
        for refused in (self.dialect.error("refused"), self.dialect.says("", stop="tool")):
            server.script = [refused, lambda request: self.dialect.answer(request, "so there")]
            server.requests.clear()
            assert self.ask(make(), clock, messages) == "so there"
            told = self.dialect.told(server.requests[1])
            assert [role for role, _ in told] == ["user", "assistant", "user"]
            assert "search" in told[1][1]
            assert "found it" in told[2][1]

    def test_a_file_that_the_model_refuses_does_not_end_the_conversation(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        damaged = {"id": "a" * 64, "name": "a.png", "type": "image/png", "size": 7}
        messages: list[Message] = [{"role": "user", "content": "what is [attached: a.png]?", "files": [damaged]}]
        server.script = [self.dialect.error("refused"), lambda request: self.dialect.answer(request, "only a name")]
        agent = make(agent_sees=True)
        assert self.ask(agent, clock, messages, read_file=lambda _: b"damaged") == "only a name"
        assert [len(request.body) > len(server.requests[1].body) for request in server.requests] == [True, False]

    def test_a_tool_call_without_earlier_tools_is_reported(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        server.script = [self.dialect.says("", stop="tool")]
        with pytest.raises(AgentFailed, match="tool"):
            self.ask(make(), clock)
        assert len(server.requests) == 1

    def test_no_model_is_told_before_anything_is_sent(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        with pytest.raises(AgentFailed, match="HANDOFF_AGENT_MODEL"):
            self.ask(make(agent_model=""), clock)
        assert server.requests == []

    def test_the_model_of_a_turn_is_asked(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        server.script = [lambda request: self.dialect.says(f"{request.path} {request.json.get('model')}")]
        assert "some.model-v1" in self.ask(make(agent_model="another"), clock, model="some.model-v1")


class TricklingContract(RemoteAgentContract):
    """For agents over our HTTP client: a server that sends blanks for ever does not pass the deadline."""

    def test_an_answer_that_never_ends_is_left_at_the_deadline(
        self, make: Callable[..., Agent], server: HttpServer, clock: HurriedClock
    ) -> None:
        server.script = [TRICKLE]
        deadline = clock.now() + 300
        with pytest.raises(AgentUnavailable):
            self.ask(make(), clock, deadline=deadline)
        assert clock.now() < deadline + 2_000
