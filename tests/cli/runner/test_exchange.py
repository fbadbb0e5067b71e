"""Events: heartbeats, progress, questions and steered words, without an agent."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import acp
import pytest

from handoff_cli.runner.acp.record import Record
from handoff_cli.runner.exchange import Exchange, TurnOver
from handoff_cli.runner.questions.permission import Option, Permission
from handoff_cli.runner.questions.shown import Shown
from tests.cli.runner.conftest import QUICK, Machine
from tests.cli.runner.test_statuses import Spool
from tests.support.servers import json_response

QUESTION = Permission(
    Shown("rm -r build", "▸ command: rm -r build"),
    "execute",
    (Option("a7", "allow_once", "Yes"), Option("b7", "reject_once", "No")),
)


class Talk:
    """One exchange of a begun turn; `now` is the runner's clock."""

    def __init__(self, spool: Spool) -> None:
        self.spool, self.turn, self.thread, self.proxy = spool, spool.turn, spool.thread, spool.proxy
        self.record = Record()
        self.now = 0.0
        self.clock = replace(QUICK, now=lambda: self.now)

    def run(self, work: Callable[[Exchange], Awaitable[None]]) -> None:
        """Run the exchange until `work` ends; raises what the exchange raises."""

        async def both(runner: Any) -> bool:
            exchange = Exchange(replace(runner, clock=self.clock), self.spool.begun, self.record, lease=90)
            beat = asyncio.ensure_future(exchange.run())
            done = asyncio.ensure_future(work(exchange))
            async with asyncio.timeout(30):
                await asyncio.wait({beat, done}, return_when=asyncio.FIRST_COMPLETED)
            for task in (beat, done):
                if task.done():
                    task.result()
                task.cancel()
            return True

        asyncio.run(self.spool.with_runner(both))

    async def press(self, kind: str) -> None:
        """Press a button of the question, when it is in the thread."""
        await self.until(lambda: self.turn.questions)
        await asyncio.to_thread(self.turn.press, kind)

    async def until(self, look: Callable[[], object]) -> None:
        while not look():  # noqa: ASYNC110 - the exchange brings it about
            await asyncio.sleep(0.005)


@pytest.fixture
def talk(machine: Machine) -> Talk:
    return Talk(Spool(machine))


def test_progress_is_sent_when_it_changes(talk: Talk) -> None:
    async def work(_: Exchange) -> None:
        await talk.until(lambda: talk.turn.progress)
        talk.record.add(acp.update_agent_message_text("Reading the file."))
        await talk.until(lambda: talk.turn.progress[-1]["text"] == "Reading the file.")

    talk.run(work)


def test_a_question_is_answered_with_the_agents_own_option(talk: Talk) -> None:
    async def work(exchange: Exchange) -> None:
        asked = asyncio.ensure_future(exchange.ask(QUESTION))
        await talk.press("allow_once")
        assert await asked == "a7"
        await talk.until(lambda: "q1" in talk.turn.acknowledged)

    talk.run(work)


def test_a_question_whose_answer_was_lost_is_asked_once(talk: Talk) -> None:
    talk.proxy.fail("POST .*/events", lose=True, count=3)

    async def work(exchange: Exchange) -> None:
        asked = asyncio.ensure_future(exchange.ask(QUESTION))
        await talk.press("reject_once")
        assert await asked == "b7"

    talk.run(work)
    assert list(talk.turn.questions) == [1]
    assert len(talk.thread.bot_texts("rm -r build")) == 1


def test_an_option_that_was_not_offered_refuses(talk: Talk) -> None:
    async def work(exchange: Exchange) -> None:
        asked = asyncio.ensure_future(exchange.ask(QUESTION))
        await talk.until(lambda: talk.turn.questions)
        decided = {"n": 1, "state": "answered", "option": "x9"}
        talk.proxy.fail("POST .*/events", change=lambda answer: answer["decided"].append(decided))
        assert await asked is None

    talk.run(work)


def test_nothing_is_allowed_while_the_service_is_away(talk: Talk) -> None:
    talk.proxy.fail("POST .*/events", response=json_response({}, 503), count=10)

    async def work(exchange: Exchange) -> None:
        asked = asyncio.ensure_future(exchange.ask(QUESTION))
        await talk.until(lambda: len(talk.proxy.requests) >= 10)
        assert not asked.done()
        asked.cancel()

    talk.run(work)


def test_after_a_sleep_a_decision_is_confirmed_by_another_heartbeat(talk: Talk) -> None:
    answered: list[int] = []

    def sleep_longer_than_the_lease(answer: Any) -> None:
        if answer.get("decided") and not answered:
            answered.append(len(talk.proxy.requests))
            talk.now += 3600
            # In that time another process of the machine went on with the turn.
            talk.spool.claim_again()

    talk.proxy.fail("POST .*/events", change=sleep_longer_than_the_lease, count=999)

    async def work(exchange: Exchange) -> None:
        asked = asyncio.ensure_future(exchange.ask(QUESTION))
        await talk.press("allow_once")
        await asked
        raise AssertionError("the permission was passed on")

    with pytest.raises(TurnOver, match="superseded"):
        talk.run(work)


def test_steered_words_are_taken_once(talk: Talk) -> None:
    talk.proxy.fail("POST .*/events", lose=True, count=2)

    async def work(exchange: Exchange) -> None:
        await asyncio.to_thread(talk.thread.say, "use tabs")
        await exchange.steered()
        word = exchange.next_steered()
        assert word is not None
        assert word["text"] == "use tabs"
        before = len(talk.turn.sent("events"))
        await talk.until(lambda: len(talk.turn.sent("events")) > before + 1)
        assert exchange.next_steered() is None, "it comes again until it has reached the agent"
        assert not talk.turn.acknowledged
        exchange.reached(word["id"])
        await talk.until(lambda: talk.turn.acknowledged == {word["id"]})

    talk.run(work)


@pytest.mark.parametrize(("status", "code"), [(409, "ended"), (404, "unknown_turn"), (401, "unauthenticated")])
def test_a_final_answer_ends_the_turn(talk: Talk, status: int, code: str) -> None:
    talk.proxy.fail("POST .*/events", response=json_response({"code": code}, status))
    with pytest.raises(TurnOver, match=code):
        talk.run(lambda _: asyncio.sleep(60))


def test_events_that_are_too_large_go_on_without_progress(talk: Talk) -> None:
    talk.proxy.fail("POST .*/events", response=json_response({"code": "body_too_large"}, 413))

    async def work(exchange: Exchange) -> None:
        asked = asyncio.ensure_future(exchange.ask(QUESTION))
        await talk.press("allow_once")
        assert await asked == "a7"

    talk.run(work)
    assert {one["detail"] for body in talk.turn.sent("events") for one in body.get("ask", [])} == {
        "▸ command: rm -r build"
    }, "it is never asked without its detail"


def test_one_question_that_the_service_does_not_take_is_refused_alone(talk: Talk) -> None:
    long = replace(QUESTION, shown=Shown("long", "▸ command: " + "x" * 30_000))

    async def work(exchange: Exchange) -> None:
        both = [asyncio.ensure_future(exchange.ask(question)) for question in (long, QUESTION)]
        assert await both[0] is None
        await talk.press("allow_once")
        assert await both[1] == "a7"

    talk.run(work)


def test_a_question_that_the_service_never_takes_is_refused(talk: Talk) -> None:
    talk.proxy.fail("POST .*/events", response=json_response({"code": "invalid_request"}, 422), count=99)

    async def work(exchange: Exchange) -> None:
        assert await exchange.ask(QUESTION) is None

    talk.run(work)


def test_a_quiet_agent_still_has_heartbeats(talk: Talk) -> None:
    async def work(_: Exchange) -> None:
        await talk.until(lambda: len(talk.proxy.requests) >= 3)

    talk.run(work)
    assert [request.json["seq"] for request in talk.proxy.requests] == sorted(
        request.json["seq"] for request in talk.proxy.requests
    )
