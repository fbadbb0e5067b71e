"""Model, mode and effort of the real agents, chosen in a thread; what Claude Code says that it costs, and a budget."""

from typing import Any

import pytest

from tests.support.api_user import ApiUser
from tests.support.fake_model.server import FakeModel
from tests.support.real_agents import NAMES, Home, begin_in_terminal
from tests.support.real_runner import HANDOFF, PLATFORM, Thread, runner
from tests.support.waiting import eventually

pytestmark = pytest.mark.agents
OTHER = {"claude-code": "haiku", "codex": "gpt-6-luna"}


def _hand_over(laptop: Home, agent: str, native_id: str, title: str) -> None:
    laptop.run(*HANDOFF, "send", PLATFORM, "--from", f"{agent}:{native_id}", "--title", title, "--json")


def _asked(model: FakeModel, words: str) -> Any:
    """The model that was asked with these words; waits for it."""
    calls = eventually(lambda: [call for call in model.calls if words in "".join(call.said)], within=60)
    return calls[-1].body["model"]


@pytest.mark.parametrize("agent", NAMES)
def test_another_model_is_asked(agent: str, laptop: Home, user: ApiUser, model: FakeModel) -> None:
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


def test_a_budget_stops_claude_code_after_the_turn_that_passes_it(laptop: Home, user: ApiUser) -> None:
    begun = begin_in_terminal(laptop, "claude-code", "hello")
    thread = Thread(user, "what it costs")
    with runner(laptop, user):
        _hand_over(laptop, "claude-code", begun.native_id, thread.title)
        thread.say("/usage")
        assert "$" in thread.shows("This session:")["text"]
        thread.say("/budget 0.000001")
        thread.shows("counted from now")
        thread.say("the first words")
        thread.shows("the first words")
        thread.shows("has spent")
        thread.say("the second words")
        thread.say("/status")
        thread.shows("lives here")
        thread.press("Go on")
        thread.shows("the second words")
