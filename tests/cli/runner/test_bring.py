"""Sessions that are only on the machine: listed in a chat, brought into a thread, begun there, and looked at."""

import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.inside.fence import fenced
from handoff_cli.inside.state import StateFile
from handoff_cli.runner.errands import Errands
from handoff_cli.runner.machine.locks import session_lock
from handoff_cli.runner.machine.sessions import HandedOver
from handoff_cli.runner.working_tree import WorkingTree
from tests.cli.conftest import Run
from tests.cli.runner.conftest import Machine
from tests.cli.runner.home_chat import PLATFORM, Home, consent
from tests.cli.runner.test_working_tree import git
from tests.support.native_sessions import claude_session, claude_turn, codex_session, held_by_codex
from tests.support.servers import json_response
from tests.support.waiting import eventually


def test_a_session_is_listed_brought_worked_in_and_whole_afterwards(machine: Machine, shop: Path, home: Home) -> None:
    path = claude_session(machine.home, shop, "Repair the till")
    claude_session(machine.home, machine.home / "private", "Not for you")
    began = time.monotonic()
    home.say("/sessions till")
    listed = home.told("Repair the till")
    assert time.monotonic() - began < 10
    assert "Not for you" not in listed["text"]
    assert str(machine.home) not in json.dumps(listed)
    home.press(listed, "Repair the till")
    thread = home.in_thread("You said:")
    assert thread["title"].endswith("Repair the till")
    home.told("is there: ")
    home.say("Which till?", thread["id"])
    home.in_thread("You said: Which till?")
    assert "Which till?" in path.read_text()
    stored = next(one for one in machine.service.user.sessions() if one["title"] == "Repair the till")
    assert (stored["cwd"], stored["runs_on"]["native_id"]) == ("shop", path.stem)
    contents = machine.service.user.contents(stored["id"])
    assert contents[:2] == ["Repair the till", "Yes."]
    assert contents[-1] == "You said: Which till?"
    assert machine.sessions.find(stored["id"]).native_id == path.stem  # type: ignore[union-attr]


def test_pressed_twice_there_is_one_thread_and_both_are_answered(machine: Machine, shop: Path, home: Home) -> None:
    claude_session(machine.home, shop, "Press me twice")
    home.say("/sessions twice")
    listed = home.told("Press me twice")
    for _ in range(2):
        home.press(listed, "Press me twice")
    home.in_thread("You said:")
    # The second order joins the handoff of the first, or comes when the session is there.
    ends = ("is there: ", "lives in a thread already: ")

    def said() -> list[str]:
        return [str(one["text"]) for one in home.messages()[home.seen :]]

    eventually(lambda: sum(any(end in text for end in ends) for text in said()) == 2, within=60, show=said)
    assert len(home.threads()) == 1
    home.say("/bring 1")
    home.told("is there: ")
    home.say("/sessions twice")
    home.seen = len(home.messages())
    listed = home.told("Press me twice")
    home.say("/bring 1")
    home.told("lives in a thread already: ")
    assert len(home.threads()) == 1


def test_a_session_begins_in_a_project_and_goes_on_at_the_desk(machine: Machine, shop: Path, home: Home) -> None:
    home.say("/new shop build a till")
    thread = home.in_thread("You said: build a till")
    home.told("is there: ")
    home.say("and a drawer", thread["id"])
    home.in_thread("You said: and a drawer")
    (begun,) = machine.agents.noted("new")
    assert machine.agents.noted("resume") == [begun]
    (path,) = (machine.home / ".claude" / "projects").glob(f"*/{begun}.jsonl")
    assert "build a till" in path.read_text()
    session = next(one for one in machine.service.user.sessions() if one["title"] == "build a till")
    assert session["runs_on"]["native_id"] == begun
    assert machine.sessions.find(session["id"]).native_id == begun  # type: ignore[union-attr]
    assert machine.service.user.contents(session["id"])[0] == "build a till"
    assert "summarise" not in json.dumps(machine.agents.noted("prompt"))


def test_a_button_of_new_begins_without_words_once(machine: Machine, home: Home) -> None:
    home.say("/new")
    listed, before = home.told("A new session"), len(list(machine.service.user.sessions()))
    assert "The model of this service" in listed["text"]
    for _ in range(2):
        home.press(listed, "shop")
    home.in_thread("You said:")

    def answers() -> int:
        return sum("is there: " in one["text"] for one in home.messages()[home.seen :])

    eventually(lambda: answers() == 2, within=60)
    (prompt,) = machine.agents.noted("prompt")
    assert "you are ready" in prompt
    assert len(home.threads()) == len(list(machine.service.user.sessions())) - before == 1


def test_without_consent_nothing_is_read_or_listed(machine: Machine, shop: Path, home: Home) -> None:
    claude_session(machine.home, shop, "A private title")
    consent(machine, {"shop": shop}, bring=False)
    home.say("/sessions private")
    assert "A private title" not in home.told("handoff projects bring on")["text"]
    consent(machine, {})
    home.say("/sessions private")
    assert "A private title" not in home.told("handoff projects add DIR")["text"]


def test_a_project_that_is_removed_meanwhile_is_not_touched(machine: Machine, shop: Path, home: Home) -> None:
    claude_session(machine.home, shop, "Soon removed")
    home.say("/sessions removed")
    listed = home.told("Soon removed")
    consent(machine, {})
    home.press(listed, "Soon removed")
    home.told("its project was removed")
    home.say("/new shop hello")
    home.told("project")
    assert home.threads() == []
    assert machine.agents.noted("pid") == []


def test_a_list_that_changed_or_is_unknown_brings_nothing(machine: Machine, shop: Path, home: Home) -> None:
    claude_session(machine.home, shop, "Listed first")
    home.say("/sessions first")
    first = home.told("Listed first")
    claude_session(machine.home, shop, "Listed second")
    home.say("/sessions second")
    home.told("Listed second")
    home.press(first, "Listed first")
    home.say("/bring 7")
    home.told("not the newest one here")
    assert home.threads() == []


def test_an_agent_at_work_in_the_terminal_is_left_alone(machine: Machine, shop: Path, home: Home) -> None:
    claude_session(machine.home, shop, "Still at work", answer=None, written=time.time())
    home.say("/sessions still")
    home.press(home.told("Still at work"), "Still at work")
    home.told("is at work on that session")
    assert home.threads() == []


def test_a_session_that_another_process_uses_is_left_alone(machine: Machine, shop: Path, home: Home) -> None:
    path = claude_session(machine.home, shop, "Used elsewhere")
    home.say("/sessions elsewhere")
    listed = home.told("Used elsewhere")
    with session_lock(machine.state, "claude-code", path.stem) as lock:
        assert lock.acquire()
        home.press(listed, "Used elsewhere")
        home.told("Another process on the machine uses")
    assert home.threads() == []


def test_a_thread_that_codex_holds_stays_there(machine: Machine, shop: Path) -> None:
    path = codex_session(machine.home, shop, "Open at the desk", native_id="t-1")

    async def ask() -> Any:
        async with machine.runner() as runner:
            errands = Errands(runner, ["codex"])
            listed = await errands.do({"order_id": "o-1", "kind": "sessions", "argument": "", "fence": 1})
            assert listed
            taken = {"order_id": "o-2", "kind": "bring", "argument": listed["sessions"][0]["id"], "fence": 1}
            return listed["sessions"][0]["open"], await errands.do(taken)

    with held_by_codex(machine.home, "t-1"):
        is_open, answer = asyncio.run(ask())
    assert (is_open, answer["outcome"]) == (True, "refused")
    assert "Close it there" in answer["text"]
    assert (machine.proxy.requests, path.exists()) == ([], True)
    assert list(machine.sessions.all()) == []


def test_a_session_that_is_written_meanwhile_is_read_again(machine: Machine, shop: Path, home: Home) -> None:
    path = claude_session(machine.home, shop, "Written meanwhile")
    home.say("/sessions meanwhile")
    listed = home.told("Written meanwhile")
    machine.proxy.fail("POST .*/messages", change=lambda _: claude_turn(path, shop, "Said at the desk"))
    home.press(listed, "Written meanwhile")
    home.told("is there: ")
    (session,) = machine.sessions.named("claude-code", path.stem, machine.proxy.url)
    assert machine.service.user.contents(session.session_id)[:4] == [
        *("Written meanwhile", "Yes."),
        *("Said at the desk", "Noted."),
    ]


def test_a_session_that_does_not_stop_growing_stays_there(machine: Machine, shop: Path, home: Home) -> None:
    path = claude_session(machine.home, shop, "Never still")
    home.say("/sessions never")
    listed = home.told("Never still")
    machine.proxy.fail("POST .*/messages", change=lambda _: claude_turn(path, shop, "and more"), count=9)
    home.press(listed, "Never still")
    home.told("is being written in a terminal")
    assert home.threads() == []
    assert StateFile.of({"HOME": str(machine.home)}, "claude-code", path.stem).read() is None


@pytest.mark.parametrize("step", ["PUT .*/session", "POST .*/messages", "POST .*/handoff", "POST .*/take"])
def test_an_answer_that_is_lost_leads_to_one_thread(machine: Machine, shop: Path, home: Home, step: str) -> None:
    title = f"Lost at {step.rpartition('/')[2]}"
    path = claude_session(machine.home, shop, title)
    home.say(f"/sessions {title}")
    listed = home.told(title)
    machine.proxy.fail(step, lose=True, count=2)
    home.press(listed, title)
    home.in_thread("You said:")
    home.told("is there: ")
    assert len(home.threads()) == 1
    (session,) = [
        one for one in machine.service.user.sessions() if (one["runs_on"] or {}).get("native_id") == path.stem
    ]
    assert machine.service.user.contents(session["id"])[:2] == [title, "Yes."]


@pytest.mark.parametrize("label", ["/etc", "../private", "~", "", "shop/../private", "private"])
def test_a_service_that_names_another_directory_begins_nothing(machine: Machine, shop: Path, label: str) -> None:
    (machine.home / "private").mkdir()
    taken = {"order_id": "o-1", "kind": "begin", "argument": label, "agent": "claude-code", "fence": 1}

    async def ask() -> tuple[object, ...]:
        async with machine.runner() as runner:
            errands = Errands(runner, ["claude-code"])
            begun = await errands.do(taken)
            return begun, await errands.do({**taken, "argument": "shop", "agent": "sh"})

    begun, other = asyncio.run(ask())
    assert begun == {"outcome": "refused", "text": f"The project {label} was removed on the machine."}
    assert other == {"outcome": "refused", "text": "The machine does not run sh now."}
    assert machine.proxy.requests == []
    assert list(machine.sessions.all()) == []


def test_a_session_that_was_handed_over_before_is_never_in_two_threads(
    machine: Machine, shop: Path, home: Home
) -> None:
    first = machine.hand_over("n-twice")
    machine.service.user.http.post(f"/sessions/{first.session_id}/resume", json={"epoch": 1}).raise_for_status()
    second = machine.hand_over("n-twice")
    claude_session(machine.home, shop, "Handed over before", native_id="n-twice")
    home.say("/sessions handed over before")
    home.press(home.told("Handed over before"), "Handed over before")
    home.told("lives in a thread already: ")
    session = machine.service.user.session(second.session_id)
    machine.service.user.http.post(f"/sessions/{second.session_id}/resume", json={"epoch": session["epoch"]})
    home.say("/sessions handed over before")
    home.seen = len(home.messages())
    home.press(home.told("Handed over before"), "Handed over before")
    home.told("is there: ")
    moved = [machine.service.user.session(one.session_id)["owner"] for one in (first, second)]
    assert (moved[0], moved[1] != "cli") == ("cli", True)


def test_from_the_terminal_it_goes_out_as_the_session_that_was_brought(
    machine: Machine, shop: Path, home: Home, run_alone: Run
) -> None:
    path = claude_session(machine.home, shop, "Out again")
    home.say("/sessions out again")
    home.press(home.told("Out again"), "Out again")
    thread = home.in_thread("You said:")
    home.told("is there: ")
    environ = {"HOME": str(machine.home), "HANDOFF_URL": machine.proxy.url, "HANDOFF_TOKEN": machine.service.token}
    source = f"claude-code:{path.stem}"

    refused = run_alone("send", PLATFORM, "--from", source, **environ)

    (session,) = [one for one in machine.service.user.sessions() if one["title"] == "Out again"]
    assert (refused.returncode, session["link"] in refused.stderr) == (1, True)
    assert f"handoff resume {session['id']}" in refused.stderr
    assert run_alone("resume", session["id"], **environ).returncode == 0
    claude_turn(path, shop, "Said at the desk")
    sent = run_alone("send", PLATFORM, "--from", source, "--json", **environ)
    assert sent.returncode == 0, sent.stderr
    assert json.loads(sent.stdout)["session_id"] == session["id"]
    said = machine.service.user.contents(session["id"])
    assert [said.count(text) for text in ("Out again", "Said at the desk", "Noted.")] == [1, 1, 1]
    assert thread["id"] in {one["id"] for one in home.threads()}
    assert len(machine.sessions.named("claude-code", path.stem, machine.proxy.url)) == 1


def test_a_session_that_is_deleted_meanwhile_is_said_to_be_gone(machine: Machine, shop: Path, home: Home) -> None:
    path = claude_session(machine.home, shop, "Soon deleted")
    home.say("/sessions deleted")
    listed = home.told("Soon deleted")
    path.unlink()
    home.press(listed, "Soon deleted")
    home.told("is gone from the machine")
    assert home.threads() == []


def test_the_changes_of_a_turn_are_shown(machine: Machine, shop: Path, home: Home) -> None:
    git(shop, "init", "-q")
    (shop / "till.py").write_text("old\n")
    home.say("/new shop hello")
    thread = home.in_thread("You said: hello")
    (shop / "till.py").write_text("new\n")
    home.say("/diff", thread["id"])
    listed = home.in_thread("1 file changed")["said"]["text"]
    assert "1. till.py  +1 −1" in listed
    assert "All of it is in the file." in listed

    def patch() -> Any:
        sent = [file for message in home.threads()[0]["messages"] for file in message.get("files") or []]
        return sent[0] if sent else None

    assert eventually(patch, within=60)["name"] == "changes.diff"
    home.say("/diff 1", thread["id"])
    assert "+new" in home.in_thread("-old")["said"]["text"]


@pytest.mark.parametrize(
    ("accepts", "said"),
    [
        ([], ""),  # an older service
        (["sends"], " changes.diff was not sent: Your files take as much room as they may."),
    ],
)
def test_without_the_file_the_changes_are_listed(machine: Machine, shop: Path, accepts: list[str], said: str) -> None:
    git(shop, "init", "-q")
    problem = {"code": "files_full", "title": "Full", "detail": "Your files take as much room as they may."}
    machine.proxy.fail("POST .*/files", response=json_response(problem, 403), count=9)

    async def ask() -> Any:
        async with machine.runner() as runner:
            runner.service.accepts, runner.service.file_limit = frozenset(accepts), 1_000_000
            runner.sessions.add(HandedOver("s-1", "claude-code", "n-1", str(shop), runner.url))
            WorkingTree(runner.state, "s-1", shop).note("t-1")
            (shop / "till.py").write_text("new\n")
            taken = {"order_id": "o-1", "kind": "diff", "argument": "", "session_id": "s-1", "fence": 1}
            return await Errands(runner, ["claude-code"]).do(taken)

    counted = "1 file changed since the session came here, +1 −0. Send `/diff NUMBER` or `/diff NAME` for one."
    assert asyncio.run(ask()) == {"outcome": "done", "text": f"{counted}{said}", "diff": "1. till.py  +1 −0"}
    assert len(machine.proxy.requests) == len(accepts)


def test_the_agents_own_commands_are_in_the_help_and_reach_it(machine: Machine, home: Home) -> None:
    machine.stop()
    machine.agent = machine.agents.agent(FAKE_ACP_COMMANDS="compact help")
    machine.start()
    home.say("/new shop hello")
    thread = home.in_thread("You said: hello")
    home.say("/help", thread["id"])
    said = home.in_thread("Commands of your agent")["said"]["text"]
    assert "/compact do compact" in said
    assert "//help do help" in said
    home.say("//help me", thread["id"])
    home.in_thread("You said: /help me")


def test_the_hook_in_the_terminal_keeps_prompts_away_until_it_is_over(tmp_path: Path, machine: Machine) -> None:
    thread = machine.hand_over()
    session = machine.sessions.find(thread.session_id)
    assert session is not None
    environ = {"HOME": str(tmp_path)}
    file = StateFile.of(environ, session.agent, session.native_id)
    with fenced(environ, session):
        assert file.read().is_moving  # type: ignore[union-attr]
    assert file.read() is None
    with fenced(environ, session) as left:
        left(4)
    away = file.read()
    assert away is not None
    assert (away.phase, away.session_id, away.sent) == ("away", session.session_id, 4)
    with fenced(environ, replace(session, session_id="another")):
        pass
    assert file.read() == away
