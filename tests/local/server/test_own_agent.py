"""`handoff up` with an agent on the machine: its runner starts, ends and is replaced with the service."""

import importlib.util
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from handoff_cli.runner.prompts import GO_ON
from local.server.own_agent import NOT_INSTALLED, own_agent
from tests.support.own_machine import OwnMachine, own_machine
from tests.support.waiting import eventually, on_this_machine

pytestmark = pytest.mark.timeout(300)  # each starts a service, a runner and agents, all as programs
STOP_SECONDS = 10.0
SECRET = "xapp-a-secret-of-the-bot"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[OwnMachine]:
    with own_machine(tmp_path / "home", TELEGRAM_WEBHOOK_SECRET=SECRET) as made:
        made.server.start()
        made.wait_for_runner()
        yield made


def test_the_agent_of_the_machine_answers_and_comes_back(machine: OwnMachine) -> None:
    thread = machine.hand_over()
    thread.say("and now?")
    thread.shows("You said: and now?")
    back = machine.handoff("resume", thread.session_id)
    assert f"claude --resume {thread.native_id}" in back.stdout
    assert thread.title not in (machine.server.data / "log").read_text()


def test_tools_of_the_agent_get_no_secrets_of_the_service(machine: OwnMachine) -> None:
    thread = machine.hand_over()
    thread.say(f"do: until {machine.home / 'done'}")
    (agent,) = eventually(machine.live_agents, within=60)
    environ = Path(f"/proc/{agent}/environ").read_text()
    status = Path(f"/proc/{agent}/status").read_text()
    (machine.home / "done").touch()
    assert "\nUmask:\t0000\n" in status, "its files get the permissions that they get in the user's terminal"
    assert SECRET not in environ
    for name in ("HANDOFF_TOKEN", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "TELEGRAM_WEBHOOK_SECRET"):
        assert f"{name}=" not in environ


def test_a_killed_service_takes_its_runner_and_agent_with_it(machine: OwnMachine) -> None:
    """The next one is started at once, before the first runner is gone, and goes on with what was under way."""
    thread = machine.hand_over()
    words = f"do: until {machine.home / 'never'}"
    thread.say(words)
    thread.shows("Waiting.")
    (first,) = machine.runners()
    (killed,) = machine.live_agents()

    machine.server.kill()
    machine.server.start()

    thread.shows(f"You said: {GO_ON}")
    assert machine.agents.noted("prompt")[-2:] == [words, GO_ON]
    (second,) = machine.runners()
    assert second != first
    assert len(agents := machine.live_agents()) == 1, "the one that stays open after its turn"
    assert killed not in agents
    thread.say("still there?")
    thread.shows("You said: still there?")


def test_a_stop_ends_runner_and_agent_and_says_so_in_time(machine: OwnMachine) -> None:
    thread = machine.hand_over()
    thread.say("do: deaf")
    eventually(machine.agents.has_noted("deaf"), within=60)

    began = time.monotonic()
    assert machine.server.stop() == 0
    assert time.monotonic() - began < on_this_machine(STOP_SECONDS)
    assert (machine.runners(), machine.live_agents()) == ([], [])
    thread.shows("was stopped before the agent was done")


def test_a_runner_that_crashes_is_started_again(machine: OwnMachine) -> None:
    (first,) = machine.runners()
    machine.kill(first)
    eventually(lambda: machine.runners() not in ([], [first]), within=60, show=machine.server.output.read_text)
    machine.hand_over().shows("You said: This session")


def test_an_agent_without_what_drives_it_is_told(
    machine: OwnMachine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert own_agent(machine.server.environment, url="http://127.0.0.1:1", token="t") is None
    assert NOT_INSTALLED in caplog.text
    caplog.clear()
    assert own_agent({"PATH": ""}, url="http://127.0.0.1:1", token="t") is None
    assert caplog.text == ""
