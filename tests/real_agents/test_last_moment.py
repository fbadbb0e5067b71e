"""Words that reach a real agent as it ends its answer, and runners that are killed then: each word is heard once.

Long: HANDOFF_TRIES sets how often each agent is tried.
"""

import os
import random
import threading
import time
from contextlib import ExitStack

import pytest

from handoff_cli.runner.prompts import said_by_user
from tests.support.api_user import ApiUser
from tests.support.fake_model.script import Answer, Call, Hold, Say
from tests.support.fake_model.server import FakeModel
from tests.support.real_agents import NAMES, Home, begin_in_terminal
from tests.support.real_runner import HANDOFF, PLATFORM, Thread, runner
from tests.support.waiting import eventually

pytestmark = [pytest.mark.tier("soak"), pytest.mark.agents, pytest.mark.timeout(7200)]

TRIES = int(os.environ.get("HANDOFF_TRIES") or 200)
KILLED = 0.2
LATEST = 1.6
"""Seconds after the words in which the answer ends, or the runner dies: the words reach the runner within one, with the
report of what the agent has begun to say."""


def holding(call: Call) -> Answer:
    """Say something, and end the answer only when the test says so; words that come meanwhile are answered at once."""
    return Hold("One moment, please.") if call.said and "first" in call.said[-1].split("\n")[-1] else Say("Heard.")


@pytest.mark.parametrize("agent", NAMES)
def test_each_word_stands_once_in_the_agents_own_session(
    agent: str, laptop: Home, user: ApiUser, model: FakeModel
) -> None:
    chance = random.Random(agent)  # noqa: S311 - the same tries in each run
    model.decide = holding
    native_id = begin_in_terminal(laptop, agent, "hello").native_id
    thread, said = Thread(user, f"{agent} at the last moment"), list[str]()
    with ExitStack() as stack:
        process = stack.enter_context(runner(laptop, user))
        source = f"{agent}:{native_id}"
        laptop.run(*HANDOFF, "send", PLATFORM, "--from", source, "--title", thread.title, "--json")
        for number in range(TRIES):
            first, second = f"word {number} first", f"word {number} second"
            said += [first, second]
            model.going_on.clear()
            thread.say(first)
            _heard(model, first)
            thread.say(second)
            end = threading.Timer(chance.uniform(0, LATEST), model.going_on.set)
            end.start()
            if chance.random() < KILLED:
                time.sleep(chance.uniform(0, LATEST))
                process.kill()
                process.wait(30)
                process = stack.enter_context(runner(laptop, user, again=True))
            _answered(user, thread, first, second)
            end.join()
            _check(agent, native_id, laptop, said)


def _check(agent: str, native_id: str, laptop: Home, said: list[str]) -> None:
    """All that was said stands in the agent's own session, once and in its order."""
    stands = said_by_user(agent, native_id, laptop.project, laptop.environ) or []
    lines = [line.strip() for text in stands for line in text.splitlines()]
    assert {words: lines.count(words) for words in said if lines.count(words) != 1} == {}
    assert [line for line in lines if line in said] == said


def _heard(model: FakeModel, words: str) -> None:
    def look() -> bool:
        return any(words in text for call in model.calls[-4:] for text in call.said[-3:])

    eventually(look, within=120, show=lambda: [call.said[-3:] for call in model.calls[-4:]])


def _answered(user: ApiUser, thread: Thread, *words: str) -> None:
    """Both are in the transcript once, and nothing works on them any more."""
    (session,) = [one for one in user.sessions() if one["title"] == thread.title]
    address = f"/sessions/{session['id']}"

    def newest() -> list[str]:
        after = max(0, user.session(session["id"])["message_count"] - 12)
        found = user.http.get(f"{address}/messages?after={after}").raise_for_status().json()["messages"]
        return [str(message["content"]) for message in found]

    def look() -> bool:
        contents = newest()
        return all(contents.count(one) == 1 for one in words) and not user.session(session["id"])["turn_running"]

    eventually(look, within=120, show=newest)
