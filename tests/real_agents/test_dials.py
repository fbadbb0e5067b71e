"""Model, mode and effort of the real agents, chosen in a thread; what Claude Code says that it costs, and a budget."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from local.chats.simulator import Simulator
from tests.support.api_user import ApiUser
from tests.support.fake_model.script import TOKENS, decide
from tests.support.fake_model.server import FakeModel
from tests.support.real_agents import NAMES, Home, begin_in_terminal, resume_in_terminal
from tests.support.real_runner import HANDOFF, PLATFORM, OpenAgent, Thread, runner
from tests.support.server_process import ServerProcess
from tests.support.waiting import eventually

pytestmark = pytest.mark.agents
OTHER = {"claude-code": "haiku", "codex": "gpt-6-luna"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """The service as a program that can be killed; its chats are outside, so that they outlive it."""
    with Simulator() as platforms:
        program = ServerProcess(tmp_path_factory.mktemp("server") / "data", platforms, names=(PLATFORM,))
        program.start()
        yield program
        program.kill()


def _hand_over(laptop: Home, agent: str, native_id: str, title: str) -> None:
    laptop.run(*HANDOFF, "send", PLATFORM, "--from", f"{agent}:{native_id}", "--title", title, "--json")


def _asked(model: FakeModel, words: str) -> Any:
    """The model that was asked with these words; waits for it."""
    calls = eventually(lambda: [call for call in model.calls if words in "".join(call.said)], within=60)
    return calls[-1].body["model"]


@pytest.mark.parametrize("agent", NAMES)
def test_another_model_is_asked(
    agent: str, laptop: Home, user: ApiUser, model: FakeModel, server: ServerProcess
) -> None:
    begun = begin_in_terminal(laptop, agent, "hello")
    thread = Thread(user, f"{agent} chooses")
    wanted = OTHER[agent]
    with runner(laptop, user):
        _hand_over(laptop, agent, begun.native_id, thread.title)
        thread.say("/model")
        thread.shows(wanted)
        thread.say("/model no-such-model")
        thread.shows("offers no such model")
        thread.say("/mode bypassPermissions")
        thread.shows("offers no such mode")
        thread.say(f"/model {wanted}")
        thread.shows(f"Model: {wanted}")
        thread.say("which one?")
        assert wanted in _asked(model, "which one?")
    with runner(laptop, user, again=True):
        thread.say("and now?")
        assert wanted in _asked(model, "and now?")
        thread.shows("and now?")
        server.kill()
        server.start()
        thread.say("and still?")
        assert wanted in _asked(model, "and still?")


def _dear(model: FakeModel, tokens: int) -> None:
    """From now on each request of the person's takes so many tokens: 1,500 cost about $0.006."""
    model.decide = lambda call: replace(decide(call), tokens=TOKENS if call.background else tokens)


def _budgets(thread: Thread) -> list[tuple[float, float]]:
    """What was spent, and the budget, as each question whether to go on says."""
    found = [re.search(r"has spent \$([0-9.]+); its budget is \$([0-9.]+)\. ", text) for text in thread.texts]
    return [(float(one[1]), float(one[2])) for one in found if one]


def _end_after_each_turn(laptop: Home) -> None:
    """Let no agent stay open: Claude Code writes its sum when it ends, and each turn resumes the session."""
    config = laptop.path / ".config" / "handoff"
    config.mkdir(parents=True)
    (config / "runner.toml").write_text("warm_sessions = 0\n")


def test_a_budget_stops_claude_code_after_the_turn_that_passes_it(
    laptop: Home, user: ApiUser, model: FakeModel
) -> None:
    _dear(model, 1_500)
    begun = begin_in_terminal(laptop, "claude-code", "hello")
    thread = Thread(user, "what it costs")
    _end_after_each_turn(laptop)
    with runner(laptop, user):
        _hand_over(laptop, "claude-code", begun.native_id, thread.title)
        thread.say("/budget 0.01")
        thread.shows("counted from now")
        thread.say("the first words")
        thread.shows("the first words")
        eventually(lambda: not OpenAgent(laptop).adapters, within=30)
        resume_in_terminal(laptop, "claude-code", begun.native_id, "at the desk")
        assert _budgets(thread) == []
        thread.say("the second words")
        thread.shows("the second words")
        thread.shows("has spent")
        # Two turns here, and one in the terminal.
        assert _budgets(thread) == [pytest.approx((0.018, 0.01), abs=0.002)]

        _dear(model, 3_000)
        thread.say("the third words")
        thread.say("/status")
        thread.shows("lives here")
        assert "the third words" not in model.calls[-1].heard
        thread.press("Go on", times=2)
        thread.shows("the third words")
        eventually(lambda: len(_budgets(thread)) == 2, within=60, show=lambda: thread.texts)
        # Counted from what was spent at the press, once: twice would be $0.038.
        assert _budgets(thread)[1] == pytest.approx((0.03, 0.028), abs=0.002)
