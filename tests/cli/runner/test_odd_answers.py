"""Answers that are not what the service sends: the runner says what it got, and tries again."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner.conftest import QUICK, Machine
from tests.support.garbled_answers import MARK, garbled, lacking_fields, odd_fields
from tests.support.runner_service import Turn
from tests.support.servers import Response

CALLS = {
    "register": "PUT .*",
    "turns": "GET .*/turns",
    "claim": "POST .*/claim",
    "begin": "POST .*/begin",
    "events": "POST .*/events",
    "result": "POST .*/result",
}


IN_DEEP = ("turns", "begin", "events", "result")
"""The calls whose odd answers `make test` leaves out: all are read in one way."""


class Spoiler:
    """Gives each answer another odd field, until every field was odd in every way."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.is_done = False

    def __call__(self, body: dict[str, Any]) -> None:
        whole = json.dumps(body).encode()
        variants = {**odd_fields(whole), **lacking_fields(whole)}
        unused = next((name for name in variants if name not in self.used), None)
        if unused is None:
            self.is_done = body.get("turns") != []
            return
        self.used.add(unused)
        spoiled = json.loads(variants[unused].body)
        body.clear()
        body.update(spoiled)


def _wait_for(machine: Machine, turn: Turn, spoiler: Spoiler, before: int) -> None:
    """A turn is committed before its answer comes back through the spoiler, which had `before` uses."""
    machine.wait(lambda: spoiler.is_done or (turn.is_committed and len(spoiler.used) > before))


@pytest.fixture
def hasty(machine: Machine) -> Machine:
    machine.clock = replace(QUICK, retry=0.001, longest_retry=0.002)
    return machine


def _answers(machine: Machine) -> None:
    assert machine.failure is None
    assert "Traceback" not in machine.output.getvalue()
    assert MARK not in machine.output.getvalue() + machine.log
    turn = machine.say("still there?", native_id="5f0c6a8e-0000-4000-8000-000000000002")
    assert machine.answer(turn) == "You said: still there?"


def test_a_user_that_is_no_text_is_asked_for_again(hasty: Machine) -> None:
    hasty.proxy.fail(CALLS["register"], change=lambda body: body.update(user=[MARK]))
    hasty.start()
    hasty.wait(lambda: "odd fields (user: string_type)" in hasty.output.getvalue())
    _answers(hasty)


@pytest.mark.parametrize("call", ["claim", *(pytest.param(call, marks=pytest.mark.tier("deep")) for call in IN_DEEP)])
def test_odd_fields_do_not_end_the_runner(hasty: Machine, call: str) -> None:
    spoiler, thread = Spoiler(), hasty.hand_over()
    hasty.proxy.fail(CALLS[call], change=spoiler, count=10**6)
    hasty.start()
    while not spoiler.is_done:
        before = len(spoiler.used)
        _wait_for(hasty, hasty.service.say(thread, "go on"), spoiler, before)
    assert len(spoiler.used) > 1
    hasty.proxy.faults.clear()
    _answers(hasty)


@pytest.mark.parametrize("call", CALLS)
def test_what_is_no_answer_does_not_end_the_runner(hasty: Machine, call: str, tmp_path: Path) -> None:
    odd: list[Response] = list(garbled(b'{"a": [1, 2, 3], "b": "text"}').values())
    go = tmp_path / "go"
    turn = hasty.say(f"do: until {go}")
    if call == "result":
        go.touch()
    for response in odd:
        hasty.proxy.fail(CALLS[call], response=response)
    hasty.start()
    hasty.wait(lambda: not any(fault.count for fault in hasty.proxy.faults))
    go.touch()
    assert hasty.answer(turn) == "Waiting.The file is there."
    assert "The service did not send an answer of its own: HTTP 200" in hasty.output.getvalue()
    _answers(hasty)
