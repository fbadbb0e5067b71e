"""A runner that is killed at any step: the next one ends the turn, with one commit and no repeated words."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.runner.prompts import GO_ON, INTERRUPTED
from tests.cli.runner.conftest import Machine
from tests.support.runner_process import RunnerProcess, ended
from tests.support.servers import HANG
from tests.support.waiting import eventually


@pytest.fixture
def program(machine: Machine) -> Iterator[RunnerProcess]:
    program = RunnerProcess(machine.agents, machine.proxy.url)
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
    turn = machine.service.offer(machine.hand_over(), WORDS)
    machine.proxy.fail(f"POST .*/{step}", response=HANG)
    program.start()
    assert machine.proxy.hanging.wait(60), program.text()
    program.kill()
    program.start()
    machine.answer(turn)
    assert machine.agents.noted("prompt") == prompts
    assert turn.commits == 1


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
    turn = machine.service.offer(machine.hand_over(), WORDS)
    killed: list[bool] = []

    def kill(_: Any) -> None:
        program.kill()
        killed.append(True)

    machine.proxy.fail(f"POST .*/{step}", change=kill)
    program.start()
    eventually(lambda: killed, within=60, show=program.text)
    program.start()
    machine.answer(turn)
    eventually(lambda: not list(machine.journal.all()), show=program.text)
    assert machine.agents.noted("prompt") == prompts
    assert turn.commits == 1


def test_killed_while_the_agent_works(machine: Machine, program: RunnerProcess) -> None:
    turn = machine.service.offer(machine.hand_over(), "do: slow")
    program.start()
    machine.wait(lambda: turn.progress and turn.progress[-1]["steps"])
    program.kill()
    program.start()
    machine.answer(turn)
    assert machine.agents.noted("prompt") == ["do: slow", GO_ON]
    assert (turn.commits, turn.fence) == (1, 2)


def test_an_agent_that_survives_the_runner_is_ended_by_the_next_one(machine: Machine, program: RunnerProcess) -> None:
    turn = machine.service.offer(machine.hand_over(), "do: deaf")
    program.start()
    machine.wait(machine.agents.has_noted("deaf"))
    program.kill()
    (orphan,) = machine.agents.noted("pid")
    assert not ended(orphan)
    program.start()
    machine.answer(turn)
    assert ended(orphan)
    assert machine.agents.noted("prompt") == ["do: deaf", GO_ON]


def test_ctrl_c_answers_in_the_thread_and_ends_in_time(machine: Machine, program: RunnerProcess) -> None:
    turn = machine.service.offer(machine.hand_over(), "do: slow")
    program.start()
    machine.wait(lambda: turn.progress and turn.progress[-1]["steps"])
    assert program.interrupt() == 0
    assert "The runner on laptop was stopped" in turn.reply
    assert all(map(ended, machine.agents.noted("pid")))
    assert "Stopping: 1 turn at work" in program.text()


def test_ctrl_c_ends_an_agent_that_does_not_listen(machine: Machine, program: RunnerProcess) -> None:
    turn = machine.service.offer(machine.hand_over(), "do: deaf")
    program.start()
    machine.wait(machine.agents.has_noted("deaf"))
    assert program.interrupt() == 0
    assert "The runner on laptop was stopped" in turn.reply
    assert all(map(ended, machine.agents.noted("pid")))


def test_a_second_runner_of_the_machine_refuses(machine: Machine, program: RunnerProcess) -> None:
    program.start()
    machine.wait(lambda: machine.service.runners)
    assert program.start().wait(60) == 1
    assert "A runner of this machine is running already" in program.text()


def test_a_revoked_runner_ends_with_its_own_exit_code(machine: Machine, program: RunnerProcess) -> None:
    turn = machine.service.offer(machine.hand_over(), "do: slow")
    process = program.start()
    machine.wait(lambda: turn.progress and turn.progress[-1]["steps"])
    machine.service.revoked.add(machine.identity.id)
    assert process.wait(60) == 5
    assert "does not accept this runner any more" in program.text()
    assert all(map(ended, machine.agents.noted("pid")))


def test_the_service_may_be_away_for_a_while(machine: Machine, program: RunnerProcess) -> None:
    machine.service.stop()
    program.start()
    eventually(lambda: "does not answer" in program.text(), within=60)
    assert program.interrupt() == 0


def test_once_ends_when_nothing_waits(machine: Machine, program: RunnerProcess) -> None:
    assert program.start("--once").wait(60) == 0, program.text()
    assert "hello" not in (Path(machine.state) / "runner.log").read_text()
