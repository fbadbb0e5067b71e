"""Real agents send a plot into the thread: once, with its caption, and without a question where nobody reads along."""

import json
import time

import pytest

from handoff_cli.runner.outgoing.names import IN_WORDS, NAME, OPENCODE_NAME
from tests.support.api_user import ApiUser
from tests.support.fake_model.server import FakeModel
from tests.support.platform_cases import PLATFORMS
from tests.support.real_agents import NAMES, Home, begin_in_terminal
from tests.support.real_runner import HANDOFF, PLATFORM, Thread, runner
from tests.support.waiting import eventually

pytestmark = pytest.mark.agents
TOOLS = {"claude-code": NAME, "codex": "send_to_chat", "opencode": OPENCODE_NAME}
"""Codex has a namespace for each server."""
PNG = b"\x89PNG\r\n\x1a\n" + b"plot" * 10


def send(agent: str, path: str = "plot.png", caption: str = "The plot.") -> str:
    """What a person says, so that the agent uses its tool."""
    return f"use: {TOOLS[agent]} {json.dumps({'path': path, 'caption': caption})}"


@pytest.mark.parametrize("agent", NAMES)
def test_a_plot_is_sent_once(agent: str, laptop: Home, user: ApiUser, model: FakeModel) -> None:
    (laptop.project / "plot.png").write_bytes(PNG)
    settings = laptop.path / ".config" / "handoff" / "runner.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("allow_always = true\n")
    begun = begin_in_terminal(laptop, agent, "hello")
    thread = Thread(user, f"{agent} sends {time.monotonic_ns()}")
    with runner(laptop, user):
        source = f"{agent}:{begun.native_id}"
        laptop.run(*HANDOFF, "send", PLATFORM, "--from", source, "--title", thread.title, "--json")
        thread.say(send(agent))
        thread.shows("plot.png was sent to the chat.")
        assert thread.files == [("plot.png", "The plot.")]
        assert thread.buttons == []
        thread.say(send(agent, "/etc/passwd"))
        thread.shows("only files below")
        assert len(thread.files) == 1
        thread.say("/share")
        thread.shows("is shared now")
        thread.say(send(agent, caption="For all of you."))
        allow, refuse = eventually(lambda: thread.buttons, within=60)  # nothing for good
        assert (allow.endswith("Send it"), refuse.endswith("Do not send")) == (True, True), thread.buttons
        thread.press("Send it")
        eventually(lambda: len(thread.files) == 2, within=60)
    told = [said for call in model.calls for said in call.said if IN_WORDS in said]
    assert bool(told) is (agent == "codex")
    assert not (laptop.project / ".claude" / "settings.local.json").exists()


def test_opencode_sends_a_plot_unasked(laptop: Home, user: ApiUser) -> None:
    """It starts anew for each turn, slowly."""
    (laptop.project / "plot.png").write_bytes(PNG)
    begun = begin_in_terminal(laptop, "opencode", "hello")
    thread = Thread(user, f"opencode sends {time.monotonic_ns()}")
    with runner(laptop, user):
        laptop.run(
            *HANDOFF, "send", PLATFORM, "--from", f"opencode:{begun.native_id}", "--title", thread.title, "--json"
        )
        thread.say(send("opencode"))
        thread.shows("plot.png was sent to the chat.")
        assert thread.files == [("plot.png", "The plot.")]
        assert thread.buttons == []


@pytest.mark.parametrize("agent", NAMES)
def test_a_plot_arrives_once_on_every_platform(agent: str, laptop: Home, user: ApiUser) -> None:
    (laptop.project / "plot.png").write_bytes(PNG)
    begun = begin_in_terminal(laptop, agent, "hello")
    title = f"{agent} sends everywhere {time.monotonic_ns()}"
    with runner(laptop, user):
        for platform in PLATFORMS:
            to = ("send", platform, "--from", f"{agent}:{begun.native_id}", "--title", title, "--replace", "--json")
            session_id = str(json.loads(laptop.run(*HANDOFF, *to))["session_id"])
            thread = Thread(user, title, platform=platform)
            thread.say(send(agent))
            thread.shows("plot.png was sent to the chat.")
            assert [name for name, _ in thread.files] == ["plot.png"], platform
            assert thread.buttons == []
            laptop.run(*HANDOFF, "resume", session_id)
