"""The service, the runner, or both are killed at random moments while the user's own agent answers: nothing is lost.

HANDOFF_SEED repeats the choices of a run that failed; the moments differ from run to run.
"""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from handoff_cli.runner.prompts import GO_ON, INTERRUPTED
from tests.support.own_machine import OwnMachine, OwnThread, own_machine
from tests.support.waiting import eventually

VICTIMS = ("service", "runner", "both", "agent")
LONGEST_PAUSE = 2.0
WAIT_SECONDS = 90.0


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[OwnMachine]:
    with own_machine(tmp_path / "home") as made:
        made.server.start()
        made.wait_for_runner()
        yield made


def _kill(machine: OwnMachine, victim: str) -> None:
    if victim in ("runner", "both"):
        for pid in machine.runners():
            machine.kill(pid)
    if victim == "agent":
        for pid in machine.live_agents():
            machine.kill(pid)
    if victim in ("service", "both"):
        machine.server.kill()
        machine.server.start()


def _check_agents(machine: OwnMachine, thread: OwnThread) -> None:
    """What the agent was given: words a second time only with the note, and never two processes of one session."""
    seen: set[str] = set()
    for prompt in machine.agents.noted("prompt"):
        words = prompt.rpartition("\n\n")[2]
        assert words not in seen or GO_ON in prompt or INTERRUPTED in prompt, machine.agents.noted("prompt")
        seen.add(words)


def _until_answered(machine: OwnMachine, thread: OwnThread, text: str) -> None:
    """One reply in the transcript to words that are there once, and one in the thread."""

    def look() -> bool:
        assert len(machine.live_agents()) <= 1, "at most one live agent of a session"
        contents = thread.user.contents(thread.session_id)
        return contents.count(text) == 1 and contents[-1] != text

    def show() -> object:
        return thread.texts(), machine.agents.noted("prompt"), machine.server.output.read_text()[-5000:]

    eventually(look, within=WAIT_SECONDS, show=show)
    eventually(lambda: not thread.user.session(thread.session_id)["turn_running"], within=WAIT_SECONDS, show=show)
    contents = thread.user.contents(thread.session_id)
    reply = contents[contents.index(text) + 1]
    eventually(lambda: reply in thread.texts(), within=WAIT_SECONDS, show=show)


def _under_fire(machine: OwnMachine, deaths: int) -> None:
    seed = int(os.environ.get("HANDOFF_SEED") or random.randrange(2**32))  # noqa: S311  # not for security
    chance = random.Random(seed)  # noqa: S311  # see above
    print("seed", seed)  # noqa: T201  # shown if it fails
    thread = machine.hand_over()
    confirmed = len(thread.user.contents(thread.session_id))
    victims = [VICTIMS[number % len(VICTIMS)] for number in range(deaths)]
    chance.shuffle(victims)
    for number, victim in enumerate(victims):
        text = f"question {number}"
        thread.say(text)
        time.sleep(chance.uniform(0.0, LONGEST_PAUSE))  # any moment: what is under way differs each time
        print(victim, number)  # noqa: T201  # see above
        _kill(machine, victim)
        _until_answered(machine, thread, text)
    said = thread.user.contents(thread.session_id)[confirmed:]
    assert said[0::2] == [f"question {number}" for number in range(deaths)], said
    assert len(said) == 2 * deaths, said
    for reply in said[1::2]:
        assert thread.texts().count(reply) >= 1
    _check_agents(machine, thread)


@pytest.mark.timeout(600)
def test_killed_at_any_moment_each_message_is_answered_once(machine: OwnMachine) -> None:
    _under_fire(machine, deaths=4)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_killed_many_times_each_message_is_answered_once(machine: OwnMachine) -> None:
    _under_fire(machine, deaths=40)
