"""A runner program that is killed at any step: the next runner ends the turn, with one commit and no repeated words."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from handoff_cli.runner.prompts import GO_ON, INTERRUPTED
from tests.cli.runner.conftest import Machine
from tests.cli.runner.home_chat import Home
from tests.journeys.test_files import given
from tests.support.native_sessions import claude_session
from tests.support.runner_process import RunnerProcess, ended
from tests.support.servers import HANG, Response
from tests.support.waiting import eventually


@pytest.fixture
def program(machine: Machine) -> Iterator[RunnerProcess]:
    program = RunnerProcess(machine.agents, machine.proxy.url, machine.service.token)
    yield program
    program.stop_all()
    # A failed test must not leave its agents behind.
    for pid in machine.agents.noted("pid"):
        if not ended(pid):
            os.killpg(int(pid), signal.SIGKILL)


WORDS = "paint it"


@pytest.mark.parametrize(
    ("step", "prompts"),
    [
        ("claim", [WORDS]),
        ("begin", [WORDS]),
        ("result", [WORDS]),
    ],
)
def test_killed_before_the_service_knows(
    machine: Machine, program: RunnerProcess, step: str, prompts: list[str]
) -> None:
    turn = machine.say(WORDS)
    machine.proxy.fail(f"POST .*/{step}", response=HANG)
    program.start()
    assert machine.proxy.hanging.wait(60), program.text()
    program.kill()
    machine.start()
    machine.answer(turn)
    assert machine.agents.noted("prompt") == prompts


@pytest.mark.parametrize(
    ("step", "prompts"),
    [
        ("claim", [WORDS]),
        ("begin", [f"{INTERRUPTED}\n\n{WORDS}"]),
        ("result", [WORDS]),
    ],
)
def test_killed_before_it_hears_the_answer(
    machine: Machine, program: RunnerProcess, step: str, prompts: list[str]
) -> None:
    turn = machine.say(WORDS)
    killed: list[bool] = []

    def kill(_: Any) -> None:
        program.kill()
        killed.append(True)

    machine.proxy.fail(f"POST .*/{step}", change=kill)
    program.start()
    eventually(lambda: killed, within=60, show=program.text)
    machine.start()
    machine.answer(turn)
    machine.wait(lambda: not list(machine.journal.all()))
    assert machine.agents.noted("prompt") == prompts


def test_killed_while_the_agent_works(machine: Machine, program: RunnerProcess) -> None:
    turn = machine.say("do: slow")
    program.start()
    machine.wait(lambda: turn.progress and turn.progress[-1]["steps"])
    program.kill()
    machine.start()
    machine.answer(turn)
    assert machine.agents.noted("prompt") == ["do: slow", GO_ON]
    first, second = (body["fence"] for body in turn.sent("begin"))
    assert second > first
    assert len(turn.results) == 1


@pytest.mark.parametrize("is_told", [False, True], ids=["before it takes it", "before it hears that it is answered"])
def test_killed_amid_an_order(machine: Machine, program: RunnerProcess, *, is_told: bool) -> None:
    """Steps between these wait for the end of a lease: tests/runner_walk has them, in virtual time."""
    thread, killed = machine.hand_over(), Event()

    def kill(_: Any) -> None:
        program.kill()
        killed.set()

    if is_told:
        machine.proxy.fail("POST .*/answer", change=kill)
    else:
        machine.proxy.fail("POST .*/take", response=HANG)
    program.start()
    eventually(lambda: machine.proxy.calls("GET", ".*/turns"), within=60, show=program.text)
    thread.say("/model haiku")
    assert (killed if is_told else machine.proxy.hanging).wait(60), program.text()
    program.kill()
    machine.start()
    machine.wait(lambda: thread.bot_texts("Model: haiku"))
    thread.say("/effort high")
    machine.wait(lambda: thread.bot_texts("Effort: high"))
    assert len(thread.bot_texts("Model: ")) == 1
    assert machine.agents.noted("set").count("model=haiku") == 1


@pytest.mark.parametrize(("step", "knows"), [("take", False), ("handoff", True)])
def test_killed_while_it_brings_a_session_there_is_one_thread(
    machine: Machine, program: RunnerProcess, home: Home, step: str, knows: bool
) -> None:
    path = claude_session(machine.home, machine.home / "shop", f"Killed at {step}")
    home.say(f"/sessions killed at {step}")
    listed = home.told(f"Killed at {step}")
    machine.stop()
    killed: list[bool] = []

    def kill(_: Any) -> None:
        program.kill()
        killed.append(True)

    machine.proxy.fail(f"POST .*/{step}", **({"change": kill} if knows else {"response": HANG}))
    program.start()
    home.press(listed, f"Killed at {step}")
    if knows:
        eventually(lambda: killed, within=60, show=program.text)
    else:
        assert machine.proxy.hanging.wait(60), program.text()
        program.kill()
    program.start()
    home.told("is there: ")
    (thread,) = home.threads()
    assert thread["title"].endswith(f"Killed at {step}")
    (session,) = machine.sessions.named("claude-code", path.stem, machine.proxy.url)
    assert machine.service.user.contents(session.session_id)[:2] == [f"Killed at {step}", "Yes."]


def test_an_agent_that_survives_the_runner_is_ended_by_the_next_one(machine: Machine, program: RunnerProcess) -> None:
    turn = machine.say("do: deaf")
    program.start()
    machine.wait(machine.agents.has_noted("deaf"))
    program.kill()
    (orphan,) = machine.agents.noted("pid")
    assert not ended(orphan)
    machine.clock = replace(machine.clock, cancel=0.1)
    machine.start()
    machine.answer(turn)
    assert ended(orphan)
    assert machine.agents.noted("prompt") == ["do: deaf", GO_ON]


def test_nothing_is_left_of_a_voice_message(machine: Machine, program: RunnerProcess) -> None:
    """Its recording is not kept, and the program that transcribes it is ended by the next runner."""
    pid = machine.home / "pid"
    code = f"import os, sys, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    settings = machine.home / ".config" / "handoff" / "runner.toml"
    settings.write_text(f"{settings.read_text()}voice = {json.dumps([sys.executable, '-c', code])}\n")
    thread = machine.hand_over()
    program.start()
    machine.wait(lambda: machine.proxy.calls("GET", ".*/turns"))
    thread.say("", files=[{**given("voice.ogg", "audio/ogg", b"OggS and a voice"), "kind": "voice"}])
    machine.wait(lambda: pid.exists() and pid.read_text())
    program.kill()
    assert not ended(pid.read_text())
    assert list((machine.state / "voice").iterdir())
    machine.start()
    machine.wait(lambda: ended(pid.read_text()))
    machine.wait(lambda: not list((machine.state / "voice").iterdir()))
    machine.answer(machine.say("hello", native_id="n-2"))


def test_ctrl_c_lets_the_agent_finish(machine: Machine, program: RunnerProcess, tmp_path: Path) -> None:
    turn = machine.say(f"do: until {tmp_path / 'go'}")
    process = program.start()
    machine.wait(machine.agents.has_noted("prompt"))
    process.send_signal(signal.SIGINT)
    eventually(lambda: "Stopping: 1 turn at work" in program.text(), within=60)
    (tmp_path / "go").touch()
    assert process.wait(60) == 0
    assert turn.reply == "Waiting.The file is there."
    assert all(map(ended, machine.agents.noted("pid")))


def test_a_second_runner_of_the_machine_refuses(machine: Machine, program: RunnerProcess) -> None:
    program.start()
    eventually(lambda: "Answering" in program.text() or machine.proxy.calls("GET", ".*/turns"), within=60)
    assert program.start().wait(60) == 1
    assert "A runner of this machine is running already" in program.text()


def test_a_revoked_runner_ends_with_its_own_exit_code(machine: Machine, program: RunnerProcess) -> None:
    machine.service.revoke()
    assert program.start().wait(60) == 5
    assert "does not accept this runner" in program.text()


def test_the_service_may_be_away_for_a_while(machine: Machine, program: RunnerProcess) -> None:
    machine.proxy.fail(".*", response=Response(503), count=10_000)
    program.start()
    eventually(lambda: "does not answer" in program.text(), within=60)
    assert program.interrupt() == 0


def test_once_ends_when_nothing_waits(machine: Machine, program: RunnerProcess) -> None:
    assert program.start("--once").wait(60) == 0, program.text()
    assert "hello" not in (Path(machine.state) / "runner.log").read_text()
