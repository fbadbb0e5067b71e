"""`/handoff` typed inside the real agents: no model is asked, and prompts are refused while the session is elsewhere."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.api_user import ApiUser
from tests.support.fake_model.server import FakeModel
from tests.support.real_agents import NAMES, Home, begin_in_terminal, resume_in_terminal
from tests.support.real_runner import HANDOFF, Thread, runner
from tests.support.tui import Tui
from tests.support.waiting import eventually

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

COMMANDS = {"claude-code": "/handoff", "codex": "handoff"}
ENDS = ("Thissessionisintelegramnow", "isonitswaytotelegram")
COMPACTION = {"claude-code": "Compaction blocked", "codex": "Hook stopped"}
READY = {"claude-code": "for agents", "codex": "Ask Codex to do anything"}


@contextmanager
def _opened(laptop: Home, agent: str, *options: str, trust: bool = False) -> Iterator[Tui]:
    with laptop.tui(agent, *options) as screen:
        if trust and agent == "codex":
            screen.shows("Trust all and continue")
            screen.press("down")
            screen.shows("› 2. Trust all and continue")
            screen.press("enter")
        screen.shows(READY[agent])
        yield screen


def _move(screen: Tui, user: ApiUser, command: str) -> dict[str, Any]:
    """Type the command; returns the session in the chat. On a busy machine the move takes longer than the hook waits."""
    known = {session["id"] for session in user.sessions()}
    screen.type(command)
    shown = eventually(lambda: next((text for text in ENDS if text in screen.joined), None), within=40)
    if shown == ENDS[0]:
        assert "Continuehere" in screen.joined

    def moved() -> dict[str, Any] | None:
        return next((one for one in user.sessions() if one["id"] not in known and one["owner"] != "cli"), None)

    session = eventually(moved, within=60)
    if shown == ENDS[1]:
        screen.type(f"{command.split(maxsplit=1)[0]} status")
        screen.shows(session["link"])
    return session


@pytest.mark.parametrize("agent", NAMES)
def test_there_and_back_without_a_model_call(agent: str, laptop: Home, user: ApiUser, model: FakeModel) -> None:
    command, before = COMMANDS[agent], len(user.sessions())
    laptop.run(*HANDOFF, "install", agent, "--yes")
    with _opened(laptop, agent, trust=True) as screen:
        screen.type("my number is 4711")
        screen.shows("You said: my number is 4711")

        session = _move(screen, user, f"{command} telegram")
        assert len(user.sessions()) == before + 1
        assert "".join(session["link"].split()) in screen.joined
        assert "my number is 4711" in user.contents(session["id"])[0]

        screen.type("are you there")
        screen.shows("Nothing was sent")
        assert [call.said[-1].strip() for call in model.calls] == ["my number is 4711"]

        screen.press("ctrl-u")
        screen.type("/compact")
        screen.shows(COMPACTION[agent])
        assert len(model.calls) == 1

        eventually(lambda: user.session(session["id"])["message_count"] > 2)  # the confirmation in the chat
        screen.press("ctrl-u")
        screen.type(f"{command} back")
        screen.shows("The agent gets what was said elsewhere with your next words")
        assert user.session(session["id"])["owner"] == "cli"
        assert len(model.calls) == 1

        screen.type("and now")
        call = model.asked("and now")
        assert "my number is 4711" in call.heard
        assert "another model answered there" in json.dumps(call.body)


def _home_chat(user: ApiUser) -> list[str]:
    chat = user.homes()["telegram"]["chat"]
    chats = user.service.simulator.state()["platforms"]["telegram"]["chats"]
    return [message["text"] for each in chats if each["id"] == chat for message in each["messages"]]


def test_a_single_prompt_moves_the_session(laptop: Home, user: ApiUser, model: FakeModel) -> None:
    """Claude Code without its screen (`-p`), and with notices."""
    agent = "claude-code"
    laptop.run(*HANDOFF, "install", agent, "--yes", "--notify", "telegram")
    native_id = begin_in_terminal(laptop, agent, "my number is 4711").native_id
    eventually(lambda: "project: Claude Code is done." in _home_chat(user), within=60, show=lambda: _home_chat(user))

    def say(words: str) -> str:
        return resume_in_terminal(laptop, agent, native_id, words).reply

    assert "This session is in telegram now" in say("/handoff telegram")
    session = user.sessions()[0]
    assert session["link"] in say("are you there")
    eventually(lambda: user.session(session["id"])["message_count"] > 2)
    assert "The session is here again" in say("/handoff back")
    assert len(model.calls) == 1
    say("and now")
    assert [words.strip() for words in model.calls[-1].said] == ["my number is 4711", "and now"]
    assert "another model answered there" in json.dumps(model.calls[-1].body)


def _talk_there(thread: Thread) -> None:
    """The agent itself answers in the chat, then the deployment's model."""
    thread.shows("my colour is blue")
    thread.say("my animal is a cat")
    thread.shows("my animal is a cat")
    thread.say("/cloud")
    thread.shows("answers here now")
    thread.say("my tree is an oak")
    thread.shows("my tree is an oak")


def _has_heard_all(model: FakeModel, words: str) -> None:
    call = model.asked(words)
    for said in ("my number is 4711", "my colour is blue", "my animal is a cat"):
        assert said in call.heard
    assert "my tree is an oak" in json.dumps(call.body)


def test_an_open_claude_code_loads_what_was_said_in_the_chat(laptop: Home, user: ApiUser, model: FakeModel) -> None:
    """The window stays open all the time, while its own agent answers in the chat."""
    agent = "claude-code"
    laptop.run(*HANDOFF, "install", agent, "--yes")
    with runner(laptop, user), _opened(laptop, agent) as screen:
        screen.type("my number is 4711")
        screen.shows("You said: my number is 4711")
        session = _move(screen, user, "/handoff telegram my colour is blue")
        _talk_there(Thread(user, owner=session["owner"]))
        calls = len(model.calls)
        screen.type("are you there")
        screen.shows("Nothing was sent. This session is in telegram")
        screen.press("ctrl-u")
        screen.type("/handoff back")
        native_id = session["runs_on"]["native_id"]
        screen.shows(f"Type /resume {native_id} here")
        screen.type("and now")
        screen.shows("Nothing was sent: this window does not know what was said in the chat.")
        screen.press("ctrl-u")
        assert len(model.calls) == calls

        screen.type(f"/resume {native_id}")
        screen.shows("The session is here again.")
        screen.type("what was said there")
        _has_heard_all(model, "what was said there")


def test_codex_goes_on_when_it_is_opened_again(laptop: Home, user: ApiUser, model: FakeModel) -> None:
    """An open Codex is the only writer of its session: it is closed, so that it can answer in the chat."""
    agent = "codex"
    laptop.run(*HANDOFF, "install", agent, "--yes")
    with runner(laptop, user):
        with _opened(laptop, agent, trust=True) as screen:
            screen.type("my number is 4711")
            screen.shows("You said: my number is 4711")
            session = _move(screen, user, "handoff telegram my colour is blue")
            screen.type("are you there")
            screen.shows("Nothing was sent")
        laptop.end_daemons()  # else its writer lock lasts a minute longer
        _talk_there(Thread(user, owner=session["owner"]))
        calls = len(model.calls)
        with _opened(laptop, agent, "resume", session["runs_on"]["native_id"]) as screen:
            screen.type("and now")
            screen.shows("Nothing was sent. This session is in telegram")
            screen.press("ctrl-u")
            screen.type("handoff back")
            screen.shows("The agent gets what was said elsewhere with your next words")
            assert len(model.calls) == calls
            screen.type("what was said there")
            _has_heard_all(model, "what was said there")
