"""A process that stays open between turns: when it is used again, and every way in which it ends."""

import json
import os
import re
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from handoff_cli.readers.claude_code.find import folder_name
from handoff_cli.runner.agents import CODEX
from handoff_cli.runner.clock import time_with_sleep
from handoff_cli.runner.machine.ask_runner import ask_runner
from handoff_cli.runner.machine.locks import session_lock
from handoff_cli.runner.machine.open_agents import open_agents
from handoff_cli.runner.machine.orphans import end_orphan
from handoff_cli.runner.prompts import GO_ON, INTERRUPTED
from handoff_cli.runner.settings import Settings
from tests.cli.runner.conftest import Machine
from tests.support.fake_agents import NATIVE_ID
from tests.support.runner_process import RunnerProcess, ended
from tests.support.runner_service import RunnerThread


def _two(
    machine: Machine, between: Callable[[], object] = lambda: None, first: str = "one", second: str = "two"
) -> str:
    """Two turns in one thread, and something between them; returns the second reply."""
    thread = machine.hand_over()
    machine.start()
    machine.answer(machine.service.say(thread, first))
    _until_rests(machine)
    between()
    return machine.answer(machine.service.say(thread, second))


def _until_rests(machine: Machine) -> None:
    """A poll that names it has begun."""
    machine.wait(lambda: "warm" in machine.proxy.calls("GET", ".*/turns")[-1].query)


def _pids(machine: Machine) -> list[str]:
    return list(dict.fromkeys(machine.agents.noted("pid")))


def _is_gone(machine: Machine, number: int = 0) -> Callable[[], bool]:
    return lambda: ended(_pids(machine)[number])


def _native_file(machine: Machine) -> Path:
    return machine.home / ".claude" / "projects" / folder_name(machine.agents.directory) / f"{NATIVE_ID}.jsonl"


def _append(machine: Machine, **record: object) -> None:
    with _native_file(machine).open("a") as file:
        file.write(json.dumps({"uuid": "u", "parentUuid": None, **record}) + "\n")


def test_the_next_turn_goes_to_the_same_process(machine: Machine) -> None:
    assert _two(machine) == "You said: two"
    assert machine.agents.noted("prompt") == ["one", "two"]
    assert len(_pids(machine)) == len(machine.agents.noted("resume")) == len(machine.agents.noted("mode")) == 1
    assert not session_lock(machine.state, "claude-code", NATIVE_ID).is_free()
    machine.stop()
    assert _is_gone(machine)()
    assert session_lock(machine.state, "claude-code", NATIVE_ID).is_free()


def test_what_is_open_is_listed_with_its_memory(machine: Machine) -> None:
    thread = machine.hand_over()
    machine.start()
    machine.answer(machine.service.say(thread, "one"))
    _until_rests(machine)
    (listed,) = open_agents(machine.state)
    assert re.fullmatch(rf"claude-code \(session {thread.session_id[:8]}, \d+ MB\)", listed)
    assert re.search(r"Claude Code stays open, \d+ MB\n", machine.output.getvalue())
    machine.stop()
    assert list(open_agents(machine.state)) == []


def test_only_agents_of_which_it_is_known_stay_open(machine: Machine) -> None:
    machine.agent = machine.agents.agent(replace(CODEX, asking_modes=(), stays_open="no"))
    turn = machine.say("one", agent="codex")
    machine.start()
    machine.answer(turn)
    machine.wait(_is_gone(machine))


def test_the_least_recently_used_one_gives_way(machine: Machine) -> None:
    machine.settings = Settings(warm_sessions=2)
    threads = [machine.hand_over(f"{number}-{NATIVE_ID}") for number in range(4)]
    machine.start()
    for thread in (*threads[:2], threads[0], *threads[2:]):
        machine.answer(machine.service.say(thread, "hello"))
    machine.wait(lambda: [ended(pid) for pid in _pids(machine)] == [True, True, False, False])


def test_it_ends_after_its_time(machine: Machine) -> None:
    machine.settings = Settings(warm=0.002)
    machine.start()
    machine.answer(machine.say("one"))
    machine.wait(_is_gone(machine))
    machine.wait(session_lock(machine.state, "claude-code", NATIVE_ID).is_free)


@pytest.mark.parametrize(
    "record", [{"type": "user"}, {"type": "assistant"}, {"type": "system", "subtype": "compact_boundary"}]
)
def test_a_process_that_does_not_know_what_was_said_elsewhere_is_not_prompted(
    machine: Machine, record: dict[str, str]
) -> None:
    said = {"message": {"role": record["type"], "content": "in the terminal"}}
    assert _two(machine, lambda: _append(machine, **record, **said)) == "You said: two"
    assert len(_pids(machine)) == 2
    assert _is_gone(machine)()


def test_nor_is_one_whose_file_is_gone(machine: Machine) -> None:
    _two(machine, lambda: _native_file(machine).write_text(""))
    assert len(_pids(machine)) == 2


@pytest.mark.parametrize(
    "record", [{"type": "ai-title"}, {"type": "last-prompt"}, {"type": "user", "isSidechain": True}]
)
def test_records_that_nobody_said_change_nothing(machine: Machine, record: dict[str, object]) -> None:
    _two(machine, lambda: _append(machine, message={"role": "user", "content": ""}, **record))
    assert len(_pids(machine)) == 1


@pytest.mark.parametrize(
    ("what", "prompts"),
    [("ends", ["two", f"{INTERRUPTED}\n\ntwo"]), ("fails", ["two", GO_ON])],
)
def test_a_prompt_that_is_not_answered_is_given_to_a_new_process_once(
    machine: Machine, what: str, prompts: list[str]
) -> None:
    _two(machine, first=f"do: last {what}")
    assert machine.agents.noted("prompt")[1:] == prompts
    assert len(_pids(machine)) == 2


def test_a_process_that_was_killed_is_not_missed(machine: Machine) -> None:
    def kill() -> None:
        os.kill(int(_pids(machine)[0]), signal.SIGKILL)
        machine.wait(session_lock(machine.state, "claude-code", NATIVE_ID).is_free)

    assert _two(machine, kill) == "You said: two"
    assert machine.agents.noted("prompt") == ["one", "two"]


def test_what_it_asks_as_its_turn_ends_is_refused(machine: Machine) -> None:
    machine.start()
    machine.answer(machine.say("do: afterwards ask 0"))
    machine.wait(lambda: machine.agents.noted("chosen") == ["no-7"])


@pytest.mark.parametrize(("what", "after"), [("say", "1.2"), ("ask", "1.2")])
def test_one_that_works_without_a_turn_is_ended_and_told(machine: Machine, what: str, after: str) -> None:
    reply = _two(machine, lambda: machine.wait(_is_gone(machine)), first=f"do: afterwards {what} {after}")
    assert "did something on the machine between two messages" in reply
    assert machine.agents.noted("later") == [what]
    assert set(machine.agents.noted("chosen")) <= {"no-7"}


def test_an_update_of_the_program_takes_effect_with_the_next_turn(machine: Machine) -> None:
    program = machine.home / "claude"
    program.touch()
    machine.agent = replace(machine.agents.agent(), program=str(program))
    _two(machine, lambda: os.utime(program, ns=(1, 1)))
    assert len(_pids(machine)) == 2


def test_a_machine_that_slept_opens_the_session_again(machine: Machine) -> None:
    slept = [0.0]
    machine.clock = replace(machine.clock, now=lambda: time_with_sleep() + slept[0])
    _two(machine, lambda: slept.__setitem__(0, 3600.0))
    assert len(_pids(machine)) == 2


@pytest.mark.parametrize("how", ["/cloud", "resume", "delete"])
def test_a_session_that_is_not_this_machines_any_more_is_let_go(machine: Machine, how: str) -> None:
    thread = machine.hand_over()
    machine.start()
    machine.answer(machine.service.say(thread, "one"))
    _until_rests(machine)
    _take_away(machine, thread, how)
    machine.wait(_is_gone(machine))


def _take_away(machine: Machine, thread: RunnerThread, how: str) -> None:
    user = machine.service.user
    if how == "/cloud":
        thread.say(how)
    elif how == "delete":
        user.http.delete(f"/sessions/{thread.session_id}").raise_for_status()
    else:
        epoch = user.session(thread.session_id)["epoch"]
        user.http.post(f"/sessions/{thread.session_id}/resume", json={"epoch": epoch}).raise_for_status()


def test_a_revoked_runner_leaves_nothing_open(machine: Machine) -> None:
    machine.start()
    machine.answer(machine.say("one"))
    _until_rests(machine)
    machine.service.revoke()
    machine.ended()
    assert _is_gone(machine)()


def test_a_command_of_the_user_asks_for_the_session(machine: Machine) -> None:
    machine.start()
    machine.answer(machine.say("one"))
    _until_rests(machine)
    request = {"verb": "release", "agent": "claude-code", "native_id": NATIVE_ID}
    assert ask_runner(machine.state, request, seconds=30) is not None
    machine.wait(session_lock(machine.state, "claude-code", NATIVE_ID).is_free)
    assert _is_gone(machine)()
    assert ask_runner(machine.state, {"verb": "delete"}, seconds=30) == {"error": "unknown verb"}
    assert (machine.state / "channel").stat().st_mode & 0o077 == 0
    machine.stop()
    assert ask_runner(machine.state, request, seconds=30) is None


@pytest.fixture
def orphan(machine: Machine) -> str:
    """An agent without a turn that was left by a runner that was killed."""
    program = RunnerProcess(machine.agents, machine.proxy.url, machine.service.token)
    turn = machine.say("do: stay")
    program.start()
    machine.answer(turn)
    machine.wait(lambda: not list(machine.journal.all()))
    program.kill()
    (pid,) = _pids(machine)
    assert not ended(pid)
    return pid


def test_the_next_runner_ends_what_a_killed_one_left_open(machine: Machine, orphan: str) -> None:
    machine.clock = replace(machine.clock, cancel=0.1)
    machine.start()
    machine.wait(lambda: ended(orphan))


def test_a_command_of_the_user_ends_what_no_runner_has(machine: Machine, orphan: str) -> None:
    lock = session_lock(machine.state, "claude-code", NATIVE_ID)
    assert not lock.is_free()
    end_orphan(lock, 0.5)
    assert ended(orphan)
    assert lock.is_free()
