"""The example agent as a program, called by the real client."""

import importlib.util
import os
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from shared.agents.http.agent import HttpAgent, signature
from shared.domain.messages import Message
from shared.errors import AgentFailed, AgentUnavailable
from tests.contracts.agent.contract import KEY, HurriedClock, long_transcript, settings, user
from tests.support.secrets import FakeSecrets

EXAMPLE = Path("examples/agent/agent.py")


@pytest.fixture
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_agent", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def started() -> Iterator[str]:
    """The program on a free port; its URL as it prints it."""
    environment = {"HANDOFF_AGENT_KEY": KEY, "PORT": "0", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-I", "-W", "error", str(EXAMPLE)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                assert selector.select(timeout=20), "it did not start"
            line = process.stdout.readline().strip()
            assert line.startswith("Agent ready at http://127.0.0.1:")
            yield line.removeprefix("Agent ready at ")
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == 0
            assert process.stdout is not None
            assert process.stdout.read().strip() == "Agent stopped."


def agent_at(url: str, key: str = KEY) -> HttpAgent:
    return HttpAgent(settings(agent_url=url), FakeSecrets({"agent/key": key}), HurriedClock())


def ask(agent: HttpAgent, *messages: Message, note: str | None = None, within: int = 20_000) -> str:
    return agent.reply(HurriedClock().turn(*messages, note=note, within=within))


def test_it_answers_a_long_session(started: str) -> None:
    said = ask(agent_at(started), *long_transcript(40), user("and?"), note="a note")
    assert "You said: and?" in said
    assert "41 messages and 10 tool calls" in said
    assert "a note" in said


def test_it_refuses_a_wrong_key(started: str) -> None:
    with pytest.raises(AgentFailed, match="signature"):
        ask(agent_at(started, key="another"), user("hi"))


def test_it_knows_genuine_requests(example: ModuleType) -> None:
    good = signature("k", "1000", b"{}")
    assert example.is_genuine("k", "1000", good, b"{}", 1000.0)
    assert not example.is_genuine("k", "1000", good, b"{ }", 1000.0)
    assert not example.is_genuine("k", "1001", good, b"{}", 1000.0)
    assert not example.is_genuine("k", "1000", good, b"{}", 1301.0)
    assert not example.is_genuine("k", "", "", b"{}", 1000.0)
    assert not example.is_genuine("k", "1000", "sha256=ü", b"{}", 1000.0)


def test_a_turn_that_is_asked_for_twice_is_worked_on_once(example: ModuleType) -> None:
    worked, go = [], threading.Event()

    def answer(messages: object, note: object) -> str:
        worked.append(messages)
        go.wait(20)
        return "done"

    turns = example.Turns(answer)
    first, second = turns.run("k", [], None), turns.run("k", [], None)
    go.set()
    assert first.result(timeout=20) == second.result(timeout=20) == "done"
    assert len(worked) == 1


def test_a_turn_that_failed_may_be_asked_for_again(example: ModuleType) -> None:
    outcomes = iter([ZeroDivisionError("oh"), None])

    def answer(messages: object, note: object) -> str:
        trouble = next(outcomes)
        if trouble:
            raise trouble
        return "done"

    turns = example.Turns(answer)
    with pytest.raises(ZeroDivisionError):
        turns.run("k", [], None).result(timeout=20)
    assert turns.run("k", [], None).result(timeout=20) == "done"


def test_work_past_the_deadline_is_picked_up_by_the_next_try(example: ModuleType) -> None:
    go = threading.Event()
    server = example.serve(KEY, 0, lambda *_: "done" if go.wait(20) else "late")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        agent = agent_at(f"http://127.0.0.1:{server.server_port}/")
        with pytest.raises(AgentUnavailable):
            ask(agent, user("hi"), within=300)
        go.set()
        assert ask(agent, user("hi")) == "done"
    finally:
        server.shutdown()
        thread.join(timeout=20)
        server.server_close()
