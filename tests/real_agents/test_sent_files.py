"""Real agents send a plot into the thread: once, with its caption, and without a question."""

import json
import time

import pytest

from handoff_cli.runner.outgoing.names import IN_WORDS, NAME, OPENCODE_NAME
from tests.support.api_user import ApiUser
from tests.support.fake_model.server import FakeModel
from tests.support.real_agents import NAMES, Home, begin_in_terminal
from tests.support.real_runner import HANDOFF, PLATFORM, Thread, runner

pytestmark = [pytest.mark.agents, pytest.mark.parametrize("agent", [*NAMES, "opencode"])]
TOOLS = {"claude-code": NAME, "codex": "send_to_chat", "opencode": OPENCODE_NAME}
"""Codex has a namespace for each server."""
PNG = b"\x89PNG\r\n\x1a\n" + b"plot" * 10


def test_a_plot_is_sent_once(agent: str, laptop: Home, user: ApiUser, model: FakeModel) -> None:
    (laptop.project / "plot.png").write_bytes(PNG)
    begun = begin_in_terminal(laptop, agent, "hello")
    thread = Thread(user, f"{agent} sends {time.monotonic_ns()}")
    with runner(laptop, user):
        source = f"{agent}:{begun.native_id}"
        laptop.run(*HANDOFF, "send", PLATFORM, "--from", source, "--title", thread.title, "--json")
        thread.say(f"use: {TOOLS[agent]} {json.dumps({'path': 'plot.png', 'caption': 'The plot.'})}")
        thread.shows("plot.png was sent to the chat.")
        assert thread.files == [("plot.png", "The plot.")]
        assert thread.buttons == []
        thread.say(f"use: {TOOLS[agent]} {json.dumps({'path': '/etc/passwd'})}")
        thread.shows("only files below")
        assert len(thread.files) == 1
    told = [said for call in model.calls for said in call.said if IN_WORDS in said]
    assert bool(told) is (agent == "codex")
    assert not (laptop.project / ".claude" / "settings.local.json").exists()
