"""The user's own agent behind the thread: a machine confirms, answers, asks, and is told what was said without it."""

import time
from collections.abc import Callable

import pytest

from shared.use_cases.runners import report_turn
from tests.journeys.test_files import ENGINES, engines
from tests.support.api_user import ApiUser
from tests.support.http_machine import Machine, MachineThread, MachineTurn
from tests.support.platform_cases import BUTTONED, EDITING, PLATFORMS, SHARED, SHARED_CHATS
from tests.support.waiting import eventually

__all__ = ["engines"]


@pytest.fixture
def machine(user: ApiUser) -> Machine:
    return Machine(user)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_machine_confirms_answers_and_asks(user: ApiUser, machine: Machine, platform: str) -> None:
    thread = MachineThread(user, machine, platform)
    thread.say("write the file")
    turn = machine.claim(thread.session_id).begin()
    assert turn.words == ["write the file"]
    turn.report(progress={"text": "Looking around", "tool": "ls", "steps": 1, "files": 0, "seconds": 1})
    if platform in EDITING:
        thread.wait_for("Looking around")
    turn.ask(1, "Run `touch it`")
    thread.wait_for("The agent asks")
    thread.say("/approve 1")
    assert turn.decision() == "yes"
    turn.report(acknowledged=["q1"])
    turn.reply("The file is there", summary={"steps": 3, "files": 1, "seconds": 4}).raise_for_status()
    thread.wait_for("The file is there")

    if platform in EDITING:
        eventually(lambda: thread.replies("3 steps, 1 file, 4 s"), show=thread.bot_texts)
        eventually(lambda: thread.replies("✓ Allow"), show=thread.bot_texts)
        assert [text for text in thread.replies("The agent asks") if "touch it" not in text or "/approve" in text] == []
    assert thread.replies("Looking around") == []
    assert thread.is_answered("write the file")
    session = thread.session()
    assert (session["answers"], session["native_seen"]) == ("machine", session["message_count"])


@pytest.mark.parametrize("platform", BUTTONED)
@pytest.mark.parametrize(("label", "option"), [("Allow", "yes"), ("Refuse", "no")])
def test_a_button_decides_and_only_for_its_owner(owner: ApiUser, platform: str, label: str, option: str) -> None:
    machine = Machine(owner)
    thread = MachineThread(owner, machine, platform, SHARED_CHATS.get(platform))
    thread.say("write the file")
    turn = machine.claim(thread.session_id).begin()
    turn.ask()
    message = thread.question()
    other = "Refuse" if label == "Allow" else "Allow"
    if platform in SHARED:
        thread.press(message, other, user="stranger")  # a user of the service too, in the same chat
    thread.press(message, label)
    assert turn.decision() == option
    turn.report(acknowledged=["q1"])
    turn.reply("done").raise_for_status()
    thread.wait_for("done")
    if platform in EDITING:
        eventually(lambda: not thread.questions(), show=thread.bot_texts)
    assert thread.is_answered("write the file")


CHOICE = {
    "title": "Which database?",
    "kind": "choice",
    "free": True,
    "options": [{"id": name, "kind": "choice", "name": name} for name in ("SQLite", "Postgres", "DuckDB")],
}


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("engine", ENGINES)
def test_choices_are_made_from_the_thread(engines: Callable[[str], ApiUser], platform: str, engine: str) -> None:
    user = engines(engine)
    machine = Machine(user)
    thread = MachineThread(user, machine, platform)
    thread.say("begin")
    turn = machine.claim(thread.session_id).begin()
    turn.report(ask=[{**CHOICE, "n": 1}, {**CHOICE, "n": 2, "several": True, "title": "Which ones?"}])
    thread.wait_for("Which ones?")
    if platform in BUTTONED:
        first = next(one for one in thread.questions() if "Which database?" in one["text"])
        label = next(button["label"] for button in first["buttons"] if "Postgres" in button["label"])
        thread.press(first, label)
    else:
        thread.say("/answer 1 2")
    thread.say("/answer 2 1 3")
    decided = eventually(lambda: heard if len(heard := turn.report()["decided"]) == 2 else None)
    assert [one["options"] for one in decided] == [["Postgres"], ["SQLite", "DuckDB"]]
    turn.report(acknowledged=["q1", "q2"], ask=[{**CHOICE, "n": 3, "blocks": False, "title": "Which name?"}])
    thread.wait_for("Which name?")
    turn.reply("It is done").raise_for_status()
    thread.wait_for("It is done")
    thread.say("/answer 3 parser")
    late = machine.claim(thread.session_id)
    assert late.words == ["To your question “Which name?”: parser"]
    late.begin().reply("parser it is").raise_for_status()
    thread.wait_for("parser it is")
    thread.say("/queue go on")
    queued = machine.claim(thread.session_id)
    assert queued.words == ["go on"]
    queued.begin().reply("went on").raise_for_status()  # what stays open here would wait for the next session here
    thread.wait_for("went on")


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("engine", ENGINES)
def test_choices_are_answered_in_words_skipped_expire_or_outlive_the_runner(
    engines: Callable[[str], ApiUser], platform: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = engines(engine)
    machine = Machine(user)
    thread = MachineThread(user, machine, platform)
    thread.say("begin")
    turn = machine.claim(thread.session_id).begin()
    turn.report(ask=[{**CHOICE, "n": number, "title": f"Which of {number}?"} for number in (1, 2, 3)])
    thread.wait_for("Which of 3?")
    now = int(time.time())
    eventually(
        lambda: int(time.time()) > now
    )  # platforms count whole seconds, and words before a question answer nothing
    thread.say("in memory, please")
    thread.say("/skip 2")
    decided = eventually(lambda: heard if len(heard := turn.report()["decided"]) == 2 else None)
    assert [(one["state"], one["words"] is None) for one in decided] == [("answered", False), ("declined", True)]
    turn.report(acknowledged=["q1", "q2"])
    thread.say("/answer 3 2")
    eventually(lambda: turn.report()["decided"])
    about = {"session_id": thread.session_id, "claim_id": "again", "previous_fence": turn.claim["fence"]}
    claim = user.http.post(f"/runners/{machine.id}/turns/{turn.claim['turn_id']}/claim", json=about).raise_for_status()
    again = MachineTurn(machine, claim.json())
    assert [one["answer"] for one in again.claim["answers"]] == ["Postgres"]
    again.begin()
    monkeypatch.setattr(report_turn, "OPEN_FOR", 1_000)
    again.report(ask=[{**CHOICE, "n": 1, "title": "In time?"}])
    thread.wait_for("In time?")
    (expired,) = eventually(lambda: again.report()["decided"])
    assert expired["state"] == "expired"
    again.reply("It is done").raise_for_status()
    thread.wait_for("It is done")


def test_words_said_while_it_works_are_given_to_the_machine(user: ApiUser, machine: Machine) -> None:
    thread = MachineThread(user, machine)
    thread.say("first")
    turn = machine.claim(thread.session_id).begin()
    thread.say("and also this")
    (late,) = eventually(lambda: turn.report()["steered"])
    assert late["text"] == "and also this"
    assert turn.report(acknowledged=[late["id"]])["steered"] == []
    turn.reply("Both are done", given=[*turn.given, late["id"]]).raise_for_status()
    thread.wait_for("Both are done")
    assert thread.contents()[-3:] == ["first", "and also this", "Both are done"]
    eventually(lambda: machine.waiting() == [])  # a pointer may outlive its turn for a moment


def test_the_model_answers_on_request_and_the_machine_learns_of_it(user: ApiUser, machine: Machine) -> None:
    thread = MachineThread(user, machine)
    thread.say("/cloud")
    thread.wait_for("The model of this service answers here now")
    thread.say("who is there")
    thread.wait_for("who is there")
    thread.say("/machine")
    thread.wait_for("answers here again")
    thread.say("and now")
    turn = machine.claim(thread.session_id)
    assert next(message["content"] for message in turn.claim["unseen"]) == "who is there"
    turn.begin().reply("I know what the model said").raise_for_status()
    thread.wait_for("I know what the model said")
    thread.say("again")
    again = machine.claim(thread.session_id)
    assert again.claim["unseen"] == []
    again.begin().reply("heard again").raise_for_status()
    thread.wait_for("heard again")
