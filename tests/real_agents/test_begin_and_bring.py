"""Begin, bring and look from a chat with the real agents: what was never handed over is reached, and goes on at the desk."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.runner.natives import codex
from tests.support.api_user import ApiUser
from tests.support.fake_model.server import FakeModel
from tests.support.real_agents import NAMES, Home, begin_in_terminal, resume_in_terminal
from tests.support.real_runner import HANDOFF, PLATFORM, Thread, runner
from tests.support.waiting import eventually

pytestmark = pytest.mark.agents


class Elsewhere(Home):
    """The same home directory, in another project."""

    @property
    def project(self) -> Path:
        return self.path / "other"


@dataclass
class Chat:
    """The person's home chat."""

    user: ApiUser
    seen: int = 0

    def __post_init__(self) -> None:
        self.id = str(self.user.homes()[PLATFORM]["chat"])
        self.seen = len(self._messages())

    def _messages(self) -> list[dict[str, Any]]:
        chats = self.user.service.simulator.state()["platforms"][PLATFORM]["chats"]
        return list(next(chat for chat in chats if str(chat["id"]) == self.id)["messages"])

    def say(self, text: str) -> None:
        self.seen = len(self._messages())
        self.user.service.simulator.say(PLATFORM, self.id, text, thread=None, user="owner")

    def told(self, text: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            found = (one for one in self._messages()[self.seen :] if one["from"] == "bot" and text in one["text"])
            return next(found, None)

        return eventually(look, within=60, show=lambda: self._messages()[self.seen :])

    def press(self, message: dict[str, Any], label: str) -> None:
        button = next(button["id"] for button in message["buttons"] if label in button["label"])
        self.user.service.simulator.press(PLATFORM, self.id, message["id"], button, thread=None, user="owner")


@pytest.fixture(autouse=True)
def only_machine(user: ApiUser) -> None:
    """Machines of other tests would be asked, too."""
    for each in user.http.get("/runners").json()["runners"]:
        user.http.delete(f"/runners/{each['id']}")


@pytest.mark.parametrize("agent", NAMES)
def test_sessions_that_were_never_handed_over_are_brought_and_begun(
    agent: str, laptop: Home, user: ApiUser, model: FakeModel
) -> None:
    other = Elsewhere(laptop.path, laptop.model_url, laptop.more)
    other.project.mkdir()
    other.run("git", "init", "-q")
    for name, home in (("shop", laptop), ("other", other)):
        laptop.run(*HANDOFF, "projects", "add", str(home.project), "--name", name)
    laptop.run(*HANDOFF, "projects", "bring", "on")
    mark = f"bring {agent}"
    first = begin_in_terminal(laptop, agent, f"{mark} alpha")
    begin_in_terminal(laptop, agent, f"{mark} beta")
    begin_in_terminal(other, agent, f"{mark} gamma")
    chat = Chat(user)
    with runner(laptop, user):
        chat.say(f"/sessions {mark}")
        listed = chat.told(f"{mark} alpha")
        assert {word for word in ("alpha", "beta", "gamma") if f"{mark} {word}" in listed["text"]} == {
            "alpha",
            "beta",
            "gamma",
        }
        assert str(laptop.path) not in str(listed)

        chat.press(listed, "alpha")
        chat.told("is there: ")
        brought = Thread(user, f"{mark} alpha")
        brought.say("run!: touch from-the-chat")
        brought.press("Yes")
        eventually((laptop.project / "from-the-chat").exists, within=60)
        brought.say("/diff")
        assert "from-the-chat" in brought.shows("1 file changed")["text"]
        brought.say("words of the chat")
        brought.shows("words of the chat")
        brought.say("/close")
        brought.shows("is back in your terminal")
    laptop.end_daemons()
    eventually(lambda: resume_in_terminal(laptop, agent, first.native_id, "and at the desk"), within=90)
    assert "words of the chat" in "".join(model.calls[-1].said + [item.text for item in model.calls[-1].items])

    laptop.end_daemons()
    with runner(laptop, user, again=True):
        sent = json.loads(
            laptop.run(*HANDOFF, "send", PLATFORM, "--from", f"{agent}:{first.native_id}", "--yes", "--json")
        )
    said = [text for text in user.contents(sent["session_id"]) if text]
    assert sent["session_id"] in {one["id"] for one in user.sessions() if one["title"] == f"{mark} alpha"}
    assert [said.count(text) for text in (f"{mark} alpha", "words of the chat", "and at the desk")] == [1, 1, 1]
    assert sum("words of the chat" in text and "at the desk" not in text for text in said) == 2  # with one answer


def test_a_thread_that_is_open_in_codex_is_said_to_be_and_stays_there(laptop: Home, user: ApiUser) -> None:
    laptop.run(*HANDOFF, "projects", "add", str(laptop.project), "--name", "shop")
    laptop.run(*HANDOFF, "projects", "bring", "on")
    spoken = begin_in_terminal(laptop, "codex", "open at the desk")
    assert codex.directories(laptop.environ)[spoken.native_id] == str(laptop.project)
    chat = Chat(user)
    with runner(laptop, user):
        with laptop.tui("codex", "resume", spoken.native_id) as screen:
            screen.shows("You said: open at the desk")
            chat.say("/sessions at the desk")
            listed = chat.told("open at the desk")
            assert "open in a terminal" in listed["text"]
            chat.press(listed, "open at the desk")
            chat.told("Close it there")
        assert user.threads("open at the desk", PLATFORM) == []
        laptop.end_daemons()  # else they hold it for a minute
        chat.say("/sessions at the desk")
        listed = chat.told("open at the desk")
        assert "open in a terminal" not in listed["text"]
        chat.press(listed, "open at the desk")
        chat.told("is there: ")


@pytest.mark.parametrize("agent", NAMES)
def test_a_session_that_began_in_the_chat_goes_on_at_the_desk(
    agent: str, laptop: Home, user: ApiUser, model: FakeModel
) -> None:
    laptop.run(*HANDOFF, "projects", "add", str(laptop.project), "--name", "shop")
    chat = Chat(user)
    title = f"begin with {agent}"
    with runner(laptop, user):
        known = user.service.store.runners
        eventually(lambda: any(one.projects for one in known.list("owner")), within=60)
        chat.say(f"/new shop {agent} {title}")
        chat.told("is there: ")
        thread = Thread(user, title)
        thread.shows(title)
        thread.say("more words of the chat")
        thread.shows("more words of the chat")
        thread.say("/help")
        thread.shows("Commands here")
        session = next(one for one in user.sessions() if one["title"] == title)
        native_id = session["runs_on"]["native_id"]
        assert native_id
        laptop.run(*HANDOFF, "resume", session["id"])
    laptop.end_daemons()
    eventually(lambda: resume_in_terminal(laptop, agent, native_id, "at the desk"), within=90)
    said = "".join(item.text for item in model.calls[-1].items)
    assert title in said
    assert "more words of the chat" in said
