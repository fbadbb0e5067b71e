"""Refusals of the runner: sessions of others, names that are no ids, and anything else that the service asks for."""

import asyncio
import subprocess
import sys
from dataclasses import replace

import pytest

from handoff_cli.runner.agent import Agent
from handoff_cli.runner.agents import GEMINI
from handoff_cli.runner.machine.locks import session_lock
from handoff_cli.runner.machine.sessions import HandedOver
from tests.cli.runner.conftest import QUICK, Machine, local_runner
from tests.support.fake_agents import NATIVE_ID
from tests.support.servers import json_response


def _ignored(machine: Machine) -> None:
    machine.start()
    machine.wait(lambda: "Ignored a turn" in machine.output.getvalue())
    assert machine.proxy.calls("POST", ".*/claim") == []


def test_a_session_that_this_machine_did_not_hand_over(machine: Machine) -> None:
    machine.service.say(machine.service.add_session("claude-code", NATIVE_ID), "hello")
    _ignored(machine)


@pytest.mark.parametrize("change", [{"native_id": "another"}, {"agent": "codex"}, {"url": "https://elsewhere.example"}])
def test_a_session_whose_agent_id_or_service_differs(machine: Machine, change: dict[str, str]) -> None:
    session = machine.hand_over()
    known = machine.sessions.find(session.session_id)
    assert known
    machine.sessions.add(replace(known, **change))
    machine.service.say(session, "hello")
    _ignored(machine)


def test_an_agent_that_it_does_not_run(machine: Machine) -> None:
    machine.say("hello", agent="gemini")
    _ignored(machine)


@pytest.mark.parametrize("turn_id", ["../../escape", "", "a" * 65, "x/y"])
def test_ids_that_could_be_paths(machine: Machine, turn_id: str) -> None:
    session = machine.hand_over()
    hint = {"session_id": session.session_id, "turn_id": turn_id, "agent": "claude-code", "native_id": NATIVE_ID}
    machine.proxy.fail("GET .*/turns", response=json_response({"turns": [hint], "poll_after_ms": 10}), count=999)
    _ignored(machine)


def test_the_list_of_sessions_takes_no_paths(machine: Machine) -> None:
    assert machine.sessions.find("../runner") is None
    machine.sessions.remove("../runner")
    entry = HandedOver("s1", "codex", "n1", "/src", "https://service.example")
    machine.sessions.add(entry)
    assert list(machine.sessions.all()) == [entry]
    machine.sessions.remove("s1")
    assert machine.sessions.find("s1") is None


def test_a_claim_that_another_holds_is_left_alone(machine: Machine) -> None:
    turn = machine.say("hello")
    machine.proxy.fail("POST .*/claim", response=json_response({"code": "taken"}, 409))
    machine.start()
    assert machine.answer(turn) == "You said: hello"


def test_a_claim_that_is_not_understood_is_not_repeated(machine: Machine) -> None:
    machine.say("hello")
    machine.proxy.fail("POST .*/claim", response=json_response({"code": "invalid_request"}, 422), count=99)
    machine.start()
    machine.wait(lambda: len(machine.proxy.calls("GET", ".*/turns")) > 5)
    assert len(machine.proxy.calls("POST", ".*/claim")) == 1


def test_a_begin_that_is_refused_permits_no_prompt(machine: Machine) -> None:
    turn = machine.say("hello")
    machine.proxy.fail("POST .*/begin", response=json_response({"code": "ended"}, 409), count=99)
    machine.start()
    machine.wait(lambda: machine.proxy.calls("POST", ".*/begin"))
    turn.thread.say("/stop")
    machine.stop()
    assert machine.agents.noted("prompt") == []
    assert list(machine.journal.all()) == []


def test_a_session_that_another_process_uses_is_not_claimed(machine: Machine) -> None:
    turn = machine.say("hello")
    with session_lock(machine.state, "claude-code", NATIVE_ID) as lock:
        assert lock.acquire()
        machine.start()
        machine.wait(lambda: "another process uses the session" in machine.output.getvalue())
        assert machine.proxy.calls("POST", ".*/claim") == []
    assert machine.answer(turn) == "You said: hello"


def test_a_lock_lives_as_long_as_a_process_that_inherited_it(machine: Machine) -> None:
    lock = session_lock(machine.state, "claude-code", NATIVE_ID)
    assert lock.acquire()
    program = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    child = subprocess.Popen(program, stdin=subprocess.PIPE, pass_fds=(lock.descriptor,))
    lock.release()
    other = session_lock(machine.state, "claude-code", NATIVE_ID)
    assert not other.is_free()
    child.communicate()
    assert other.is_free()


def test_two_sessions_have_two_locks(machine: Machine) -> None:
    with session_lock(machine.state, "codex", "a") as one, session_lock(machine.state, "codex", "b") as two:
        assert one.acquire()
        assert two.acquire()


def test_gemini_waits_for_the_minute_after_the_session_was_made(machine: Machine) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    session = machine.hand_over(agent="gemini")
    made = machine.sessions.added_at(session.session_id) // 60 * 60
    known = machine.sessions.find(session.session_id)
    assert known
    for now, expected in ((made + 20.0, [40.5]), (made + 61.0, [])):
        slept.clear()
        runner = local_runner(machine.home, replace(QUICK, sleep=sleep), wall_clock=lambda now=now: now)
        lock = session_lock(machine.state, "gemini", NATIVE_ID)
        assert lock.acquire()
        agent = Agent(runner, known, machine.agents.agent(GEMINI), lock)

        async def opened(agent: Agent = agent) -> None:
            await agent.open(lambda _: None)
            await agent.end()

        asyncio.run(opened())
        assert slept == expected
