"""Real agents that stay open between turns: no words are lost, whoever else speaks and whatever is killed."""

import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from handoff_cli.runner.machine.groups import group_members
from tests.support.api_user import ApiUser
from tests.support.fake_model.server import FakeModel
from tests.support.real_agents import NAMES, Home, begin_in_terminal, resume_in_terminal
from tests.support.real_runner import HANDOFF, PLATFORM, OpenAgent, Thread, runner
from tests.support.waiting import eventually

pytestmark = [pytest.mark.agents, pytest.mark.parametrize("agent", NAMES)]

SLEPT = 45.0


class Talk:
    """A session that goes back and forth; remembers what the person said, wherever."""

    def __init__(self, agent: str, laptop: Home, user: ApiUser, model: FakeModel) -> None:
        self.agent, self.laptop, self.user, self.model = agent, laptop, user, model
        self.open = OpenAgent(laptop)
        self.said: list[str] = []
        self.native_id = begin_in_terminal(laptop, agent, self._new()).native_id
        self.thread = Thread(user)

    def _new(self) -> str:
        self.said.append(f"this is word {len(self.said)} of {self.agent}")
        return self.said[-1]

    def hand_over(self) -> dict[str, Any]:
        title = f"{self.agent} {time.monotonic_ns()}"
        source = f"{self.agent}:{self.native_id}"
        sent = self.laptop.run(*HANDOFF, "send", PLATFORM, "--from", source, "--title", title, "--json")
        self.thread = Thread(self.user, title)
        handoff: dict[str, Any] = json.loads(sent)
        assert handoff["error"] is None
        return handoff

    def in_chat(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Say something new in the thread: the model hears all that was ever said."""
        words = self._new()
        self.thread.say(words)
        meanwhile()
        self.thread.shows(words)
        self._is_whole(words)
        eventually(lambda: len(self.open.adapters) == 1, within=30)

    def in_terminal(self) -> None:
        words = self._new()
        resume_in_terminal(self.laptop, self.agent, self.native_id, words)
        self._is_whole(words)

    def _is_whole(self, words: str) -> None:
        heard = self.model.asked(words).heard
        assert [one for one in self.said if one not in heard] == []


@pytest.fixture
def talk(agent: str, laptop: Home, user: ApiUser, model: FakeModel) -> Talk:
    return Talk(agent, laptop, user, model)


def test_back_and_forth_with_an_open_process(talk: Talk) -> None:
    with runner(talk.laptop, talk.user):
        session = talk.hand_over()["session_id"]
        calls = len(talk.model.calls)
        talk.in_chat()
        adapter = talk.open.adapter
        talk.in_chat()
        assert talk.open.adapter == adapter
        assert len(talk.model.calls) == calls + 2, "one call of the model for each turn, and none between"

        if talk.agent == "codex":
            with pytest.raises(AssertionError, match=r"active.writer"):
                resume_in_terminal(talk.laptop, talk.agent, talk.native_id, "not now")
        else:
            talk.in_terminal()
        talk.in_chat()

        talk.laptop.run(*HANDOFF, "resume", session)
        assert talk.open.adapters == []
        talk.in_terminal()

        talk.hand_over()
        talk.in_chat()
        adapter = talk.open.adapter
        talk.thread.say("hold")
        talk.model.asked("hold")
        talk.thread.say("/stop")
        talk.thread.shows("Stopped")
        eventually(lambda: adapter not in talk.open.adapters, within=30)
        talk.said.append("hold")
        talk.in_chat()


def test_whatever_is_killed_no_words_are_lost(talk: Talk) -> None:
    with runner(talk.laptop, talk.user) as process:
        talk.hand_over()
        talk.in_chat()
        talk.open.kill(talk.open.core)
        talk.in_chat()
        talk.open.kill(talk.open.adapter)
        talk.in_chat()
        for number in (signal.SIGSTOP, signal.SIGCONT):
            process.send_signal(number)
        talk.in_chat()
        process.kill()
        process.wait(30)
    with runner(talk.laptop, talk.user, again=True):
        talk.in_chat()


@pytest.mark.tier("soak")
def test_a_machine_that_slept_loses_no_words(talk: Talk) -> None:
    """Nothing runs for longer than a runner takes for a slow machine: others may have opened the session meanwhile."""
    with runner(talk.laptop, talk.user) as process:
        talk.hand_over()
        talk.in_chat()
        adapter = talk.open.adapter
        sleeping = [process.pid, *group_members(adapter)]
        for pid in sleeping:
            os.kill(pid, signal.SIGSTOP)

        def wake() -> None:
            time.sleep(SLEPT)
            for pid in sleeping:
                os.kill(pid, signal.SIGCONT)

        talk.in_chat(wake)
        assert talk.open.adapter != adapter
        talk.in_chat()
