"""Turns from the claim to the committed result, with a fake agent."""

import hashlib
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from handoff_cli.errors import NotAccepted
from handoff_cli.runner.agents import CODEX, custom
from handoff_cli.runner.agents.spec import DoesNotAsk, Forcing
from handoff_cli.runner.prompts import GO_ON, INTERRUPTED
from handoff_cli.runner.report import Report, open_log
from handoff_cli.runner.settings import Settings
from handoff_cli.ui.terminal import Terminal
from tests.cli.runner.conftest import Machine
from tests.support.fake_agents import COMMAND, NATIVE_ID
from tests.support.waiting import eventually


def test_words_are_answered_by_the_agent_in_its_own_session(machine: Machine) -> None:
    turn = machine.say("hello", "and this")
    machine.start()
    assert machine.answer(turn) == "You said: hello\n\nand this"
    assert machine.agents.noted("resume") == [NATIVE_ID]
    (result,) = turn.results
    assert len(result["given"]) == 2
    assert result["outcome"] == "done"
    canonical = json.dumps(
        {"given": result["given"], "messages": result["messages"]},
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )
    assert result["digest"] == hashlib.sha256(canonical.encode()).hexdigest()
    machine.wait(lambda: list(machine.journal.all()) == [])
    assert "hello" not in machine.log
    machine.wait(lambda: ": answered" in machine.output.getvalue())
    assert "A title" not in machine.output.getvalue(), "no terminal: a supervisor keeps what is written there"


def test_a_title_is_shown_on_a_terminal_only(tmp_path: Path) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, name in ((Screen(), "My plan"), (io.StringIO(), "session 0123abcd")):
        report = Report(Terminal(stream, stream, stream, environ={}), open_log(tmp_path / "log"))
        assert report.name_of("0123abcdef", "My plan") == name
        assert report.name_of("0123abcdef", "") == "session 0123abcd"


def test_two_turns_use_two_processes_where_nothing_stays_open(machine: Machine) -> None:
    machine.settings = Settings(warm_sessions=0)
    session = machine.hand_over()
    machine.start()
    machine.answer(machine.service.say(session, "one"))
    machine.answer(machine.service.say(session, "two"))
    assert machine.agents.noted("prompt") == ["one", "two"]
    assert len(set(machine.agents.noted("pid"))) == 2


@pytest.mark.parametrize(("kind", "chosen"), [("allow_once", "yes-7"), ("reject_once", "no-7")])
def test_a_permission_is_asked_in_the_thread(machine: Machine, kind: str, chosen: str) -> None:
    turn = machine.say("do: permit")
    machine.start()
    machine.wait(lambda: turn.questions)
    assert turn.questions[1]["title"] == "rm -r build"
    assert turn.questions[1]["detail"] == "▸ command: rm -r build"
    assert [option["kind"] for option in turn.questions[1]["options"]] == ["allow_once", "reject_once"]
    turn.press(kind)
    assert machine.answer(turn) == f"You chose {chosen}."


def test_an_agent_that_may_not_ask_is_said_in_the_thread_and_never_shared(machine: Machine) -> None:
    machine.agent = replace(machine.agents.agent(custom("claude-code", COMMAND)), unattended=True)
    thread = machine.hand_over()
    machine.start()
    first = machine.answer(machine.service.say(thread, "one"))
    assert first.startswith("You said: one")
    assert "is not made to ask before each step" in first
    assert machine.answer(machine.service.say(thread, "two")) == "You said: two"

    thread.say("/share")
    thread.wait_for("This thread cannot be shared", within=20)
    assert not thread.session()["shared"]
    assert [agent["unattended"] for runner in machine.service.runners() for agent in runner["agents"]] == [True]


def test_an_agent_that_cannot_be_made_to_ask_in_a_project_is_not_started(machine: Machine) -> None:
    def environ(_program: str, _environ: object, directory: Path) -> dict[str, str]:
        raise DoesNotAsk(f"its configuration in {directory} does not make it ask for bash")

    spec = replace(custom("claude-code", COMMAND), forcing=Forcing((1,), environ))
    machine.agent = machine.agents.agent(spec)
    turn = machine.say("do: permit")
    machine.start()
    assert "was not started, because its configuration in" in machine.answer(turn)
    assert machine.agents.noted("pid") == []


def test_a_question_that_expired_is_refused(machine: Machine) -> None:
    turn = machine.say("do: permit")
    machine.start()
    machine.wait(lambda: turn.questions)
    expired = {"n": 1, "state": "expired", "option": None}
    machine.proxy.fail("POST .*/events", change=lambda answer: answer["decided"].append(expired))
    assert machine.answer(turn) == "You chose no-7."


def test_allowing_for_good_is_offered_only_where_the_user_enabled_it(machine: Machine) -> None:
    machine.settings = Settings(allow_always=True)
    turn = machine.say("do: permit")
    machine.start()
    machine.wait(lambda: turn.questions)
    turn.press("allow_always")
    assert machine.answer(turn) == "You chose ever-7."


def test_steered_words_are_given_as_further_prompts(machine: Machine, tmp_path: Path) -> None:
    turn = machine.say(f"do: until {tmp_path / 'go'}")
    machine.start()
    machine.wait(machine.agents.has_noted("prompt"))
    turn.thread.say("use tabs")
    machine.wait(lambda: turn.progress[-1].get("waiting") == 1)
    assert not turn.acknowledged, "it has not reached the agent"
    (tmp_path / "go").touch()
    assert machine.answer(turn) == "You said: use tabs"
    assert len(turn.results[0]["given"]) == 2
    assert [message["content"] for message in turn.results[0]["messages"]] == [
        "Waiting.The file is there.",
        "You said: use tabs",
    ]


def test_stop_in_the_thread_cancels_the_agent(machine: Machine) -> None:
    turn = machine.say("do: slow")
    machine.start()
    machine.wait(lambda: turn.progress and turn.progress[-1].get("tool"))
    last = turn.progress[-1]
    assert (last["text"], last["tool"], last["steps"], last["files"]) == ("Working on it.", "build", 1, 1)
    turn.thread.say("/stop")
    machine.wait(lambda: "stopped (ended); one step may have finished" in machine.output.getvalue())
    assert machine.agents.noted("cancel") == [""]
    assert turn.results == []
    assert list(machine.journal.all()) == []


@pytest.mark.parametrize("when", ["before", "during", "after"])
def test_a_crash_of_the_agent_is_the_reply(machine: Machine, when: str) -> None:
    turn = machine.say(f"do: crash {when}")
    machine.start()
    assert machine.answer(turn).endswith("Claude Code ended unexpectedly (exit code 3).")
    assert turn.results[0]["outcome"] == "failed"
    assert len(turn.results[0]["given"]) == 1


def test_words_at_which_the_agent_crashed_are_not_said_again(machine: Machine, tmp_path: Path) -> None:
    turn = machine.say(f"do: until {tmp_path / 'go'}")
    machine.start()
    machine.wait(machine.agents.has_noted("prompt"))
    turn.thread.say("do: crash during")
    machine.wait(lambda: turn.progress[-1].get("waiting") == 1)
    (tmp_path / "go").touch()
    assert machine.answer(turn).endswith("Claude Code ended unexpectedly (exit code 3).")
    assert len(turn.results[0]["given"]) == 2
    machine.answer(machine.service.say(turn.thread, "go on"))
    assert machine.agents.noted("prompt")[1:] == ["do: crash during", "go on"]


def test_secrets_and_long_output_of_tools_do_not_leave_the_machine(machine: Machine) -> None:
    turn = machine.say("do: secret")
    machine.start()
    assert machine.answer(turn) == "Read it."
    sent = b"".join(request.body for request in machine.proxy.requests)
    assert b"AKIA" not in sent
    assert b"redacted AWS access key" in sent
    assert max(len(message["content"] or "") for message in turn.results[0]["messages"]) <= 2048


def test_an_interrupted_agent_is_told_and_words_are_not_repeated(machine: Machine) -> None:
    thread = machine.hand_over()
    machine.start()
    stopped = machine.service.say(thread, "do: slow")
    machine.wait(lambda: stopped.progress and stopped.progress[-1]["steps"])
    thread.say("/stop")
    machine.wait(lambda: "stopped (ended)" in machine.output.getvalue())
    again = machine.service.say(thread, "do: slow")
    machine.answer(again)
    assert machine.agents.noted("prompt")[-1] == GO_ON


def test_new_words_after_an_interruption_come_with_the_note(machine: Machine) -> None:
    thread = machine.hand_over()
    machine.service.interrupt(thread, "paint it")
    turn = machine.service.say(thread, "now this")
    machine.start()
    machine.answer(turn)
    assert machine.agents.noted("prompt") == [f"{INTERRUPTED}\n\nnow this"]


def test_the_agent_gets_what_another_model_said_without_it(machine: Machine) -> None:
    thread = machine.hand_over()
    for text, answer in (
        ("/cloud", "answers here now"),
        ("which port?", "You said"),
        ("/machine", "answers here again"),
    ):
        thread.say(text)
        thread.wait_for(answer)
    turn = machine.service.say(thread, "thanks")
    machine.start()
    machine.answer(turn)
    (prompt,) = machine.agents.noted("prompt")
    assert "Me: which port?\n\nThe other model: You said" in prompt
    assert prompt.endswith("end of what you missed. My message:]\n\nthanks")


def test_a_kickoff_is_confirmed_before_its_deadline(machine: Machine) -> None:
    thread = machine.hand_over(message="do: slow")
    turn = machine.service.turn_of(thread)
    machine.proxy.fail("POST .*/claim", change=lambda claim: claim.update(deadline_in=30.5))
    machine.start()
    assert "Your session is here now." in machine.answer(turn)
    assert turn.results[0]["outcome"] == "done"
    machine.wait(lambda: ": answered" in machine.output.getvalue())
    assert not any(Path(f"/proc/{pid}").exists() for pid in machine.agents.noted("pid"))


def test_a_session_that_codex_holds_is_tried_again(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "busy").write_text("2")
    spec = replace(CODEX, asking_modes=(), tools="no")
    machine.agent = machine.agents.agent(spec, FAKE_ACP_BUSY=str(tmp_path / "busy"))
    turn = machine.say("hello", agent="codex")
    machine.start()
    assert machine.answer(turn) == "You said: hello"
    assert any("Codex in the terminal holds this session" in shown["text"] for shown in turn.progress)


def test_a_session_that_codex_never_frees_is_a_failure(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "busy").write_text("1000")
    spec = replace(CODEX, asking_modes=(), busy_seconds=0.1)
    machine.agent = machine.agents.agent(spec, FAKE_ACP_BUSY=str(tmp_path / "busy"))
    turn = machine.say("hello", agent="codex")
    machine.start()
    assert machine.answer(turn) == "Codex in the terminal holds this session. Close it there."


def test_a_silent_agent_still_has_a_reply(machine: Machine) -> None:
    turn = machine.say("do: silent")
    machine.start()
    assert machine.answer(turn) == "Done. The agent said nothing more."
    assert [message["role"] for message in turn.results[0]["messages"]] == ["assistant", "tool", "assistant"]


def test_several_sessions_are_answered_at_once(machine: Machine, tmp_path: Path) -> None:
    machine.settings = Settings(parallel=2)
    turns = [machine.say(f"do: until {tmp_path / 'go'}", native_id=f"{number}-{NATIVE_ID}") for number in range(3)]
    machine.start()
    machine.wait(lambda: len(machine.agents.noted("prompt")) == 2)
    assert sum(bool(turn.sent("begin")) for turn in turns) == 2
    (tmp_path / "go").touch()
    assert {machine.answer(turn) for turn in turns} == {"Waiting.The file is there."}


def test_once_answers_what_waits_and_ends(machine: Machine) -> None:
    turn = machine.say("hello")
    machine.start(once=True)
    assert machine.ended() is None
    assert turn.reply == "You said: hello"


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("slow", "The runner on laptop was stopped before the agent was done. One step may have finished."),
        ("deaf", "The runner on laptop was stopped before the agent was done."),
    ],
)
def test_a_runner_that_is_stopped_answers_and_leaves_nothing_running(machine: Machine, act: str, said: str) -> None:
    machine.clock = replace(machine.clock, stop=1.0, cancel=0.1)
    turn = machine.say(f"do: {act}")
    machine.start()
    machine.wait(
        machine.agents.has_noted("deaf") if act == "deaf" else lambda: turn.progress and turn.progress[-1]["steps"]
    )
    machine.stop()
    assert said in turn.reply
    (pid,) = machine.agents.noted("pid")
    eventually(lambda: not Path(f"/proc/{pid}").exists())


def test_a_runner_that_is_revoked_ends_its_agents(machine: Machine) -> None:
    turn = machine.say("do: slow")
    machine.start()
    machine.wait(lambda: turn.progress and turn.progress[-1]["steps"])
    machine.service.revoke()
    assert isinstance(machine.ended(), NotAccepted)
    assert "does not accept this runner any more" in str(machine.failure)
    (pid,) = machine.agents.noted("pid")
    assert not Path(f"/proc/{pid}").exists()
