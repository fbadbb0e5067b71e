"""`handoff run` drives the real agents: words, a button, the guard of the terminal, and the way back."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from handoff_cli.runner.machine.files import private_directory, state_directory
from handoff_cli.runner.machine.identity import identify
from handoff_cli.runner.machine.sessions import HandedOver, Sessions
from tests.support.fake_model.server import FakeModel
from tests.support.fake_runner_service import TOKEN, FakeRunnerService, FakeSession, FakeTurn
from tests.support.real_agents import NAMES, ROOT, Home, begin_in_terminal, resume_in_terminal, why_absent
from tests.support.waiting import eventually

pytestmark = [pytest.mark.agents, pytest.mark.parametrize("agent", NAMES)]

HANDOFF = (sys.executable, "-m", "handoff_cli")


@pytest.fixture
def service() -> Iterator[FakeRunnerService]:
    with FakeRunnerService() as running:
        yield running


@pytest.fixture
def machine(model: FakeModel, service: FakeRunnerService, tmp_path: Path) -> Home:
    if reason := why_absent():
        pytest.skip(reason)
    more = {"PYTHONPATH": str(ROOT / "cli"), "HANDOFF_URL": service.url, "HANDOFF_TOKEN": TOKEN}
    made = Home(tmp_path / "home", model.url, more)
    made.prepare()
    return made


@pytest.fixture
def runner(agent: str, machine: Home) -> Iterator["subprocess.Popen[bytes]"]:
    with (machine.path / "runner.output").open("wb") as output:
        process = subprocess.Popen(
            [*HANDOFF, "run", "--agent", agent],
            cwd=machine.path,
            env=machine.environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    yield process
    process.terminate()
    process.wait(30)


def _hand_over(machine: Home, service: FakeRunnerService, agent: str, native_id: str) -> FakeSession:
    """A session that this machine handed over; its terminal refuses prompts."""
    state = private_directory(state_directory(machine.environ))
    session = service.add_session(identify(state, "laptop").id, agent, native_id)
    Sessions(state).add(HandedOver(session.id, agent, native_id, str(machine.project), service.url))
    note = machine.path / ".local/state/handoff/away" / agent / f"{native_id}.json"
    note.parent.mkdir(parents=True)
    note.write_text(json.dumps({"phase": "away", "session_id": session.id, "url": service.url}))
    return session


def _reply(machine: Home, turn: FakeTurn) -> str:
    eventually(lambda: turn.commits, within=90, show=(machine.path / "runner.output").read_text)
    return turn.reply


def test_words_a_button_and_the_way_back(
    agent: str,
    machine: Home,
    service: FakeRunnerService,
    runner: "subprocess.Popen[bytes]",
    model: FakeModel,
) -> None:
    begun = begin_in_terminal(machine, agent, "my number is 4711")
    machine.run(*HANDOFF, "install", agent, "--yes")
    session = _hand_over(machine, service, agent, begun.native_id)

    kickoff = service.offer(session, "You are in a chat now. Confirm it.", kind="kickoff", deadline_in=120)
    assert "my number is 4711" in _reply(machine, kickoff)

    turn = service.offer(session, "run!: echo from the chat > answer.txt")
    eventually(lambda: turn.questions, within=60, show=(machine.path / "runner.output").read_text)
    [(number, question)] = turn.questions.items()
    assert "echo from the chat" in json.dumps(question)
    assert not (machine.project / "answer.txt").exists()
    service.press(turn, number, "allow_once")
    assert "The tool said" in _reply(machine, turn)
    assert (machine.project / "answer.txt").read_text() == "from the chat\n"

    refused = service.offer(session, "run!: echo no > refused.txt")
    eventually(lambda: refused.questions, within=60)
    service.press(refused, next(iter(refused.questions)), "reject_once")
    _reply(machine, refused)
    assert not (machine.project / "refused.txt").exists()

    (machine.path / ".local/state/handoff/away" / agent / f"{begun.native_id}.json").unlink()
    resume_in_terminal(machine, agent, begun.native_id, "and now")
    assert "my number is 4711" in model.calls[-1].heard
    assert "run!: echo from the chat > answer.txt" in model.calls[-1].heard


def test_a_turn_that_is_stopped_ends_the_answer(
    agent: str,
    machine: Home,
    service: FakeRunnerService,
    runner: "subprocess.Popen[bytes]",
    model: FakeModel,
) -> None:
    begun = begin_in_terminal(machine, agent, "my number is 4711")
    session = _hand_over(machine, service, agent, begun.native_id)
    stopped = service.offer(session, "hold")
    eventually(lambda: any("hold" in call.said[-1] for call in model.calls), within=60)
    service.stop_turn(stopped)
    after = service.offer(session, "go on")
    assert "my number is 4711" in _reply(machine, after)
    assert stopped.commits == 0
