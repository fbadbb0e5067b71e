"""What an agent may say and ask, however odd: nothing unshown is run, and the turn has its answer."""

import json
from pathlib import Path
from typing import Any

import pytest
from acp import schema

from handoff_cli.runner.acp.record import Record
from handoff_cli.runner.questions.shown import TOO_LONG, shown
from tests.cli.runner.conftest import Machine
from tests.support.runner_service import Turn

HALF = "\ud83d"
"""Half of a character: JavaScript cuts texts there."""


def do(machine: Machine, folder: Path, action: str, script: object) -> Turn:
    """A turn of an agent that does this."""
    path = folder / "script.json"
    path.write_text(json.dumps(script))
    return machine.say(f"do: {action} {path}")


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [2000, 100_000])
def test_arguments_that_are_too_deep_cannot_be_allowed(depth: int) -> None:
    record, arguments = Record(), {"a": nested(depth)}
    record.add(
        schema.ToolCallStart(
            session_update="tool_call", tool_call_id="1", title="x", status="failed", raw_input=arguments
        )
    )
    found = shown(record.request(schema.ToolCallUpdate(tool_call_id="2", title="x", raw_input=arguments)))
    assert found is not None
    assert found.reason == TOO_LONG
    assert [message["role"] for message in record.messages("done")] == ["assistant", "tool", "assistant"]


def test_a_turn_with_half_characters_everywhere_has_its_answer(machine: Machine, tmp_path: Path) -> None:
    step: dict[str, Any] = {"toolCallId": f"c{HALF}"}
    text = {"type": "content", "content": {"type": "text", "text": HALF}}
    begun = {"sessionUpdate": "tool_call", "title": HALF, "kind": "edit", "rawInput": {HALF: HALF}}
    done = {"sessionUpdate": "tool_call_update", "status": "completed", "content": [text], "rawOutput": {"x": HALF}}
    turn = do(machine, tmp_path, "updates", [{**step, **begun, "locations": [{"path": HALF}]}, {**step, **done}])
    machine.start()
    assert machine.answer(turn) == "That was it."
    assert turn.messages[1]["tool_calls"][0]["function"]["name"] == "edit"


def test_a_plan_hides_no_character(machine: Machine, tmp_path: Path) -> None:
    plan = f"# Plan\n\t- one \u202e two\u200b {HALF} ⚠\ufe0f \U000e0041"
    call = {"title": "Plan", "kind": "switch_mode", "rawInput": {"plan": plan}}
    turn = do(machine, tmp_path, "run", {"call": call, "step": "the plan"})
    machine.start()
    machine.wait(lambda: turn.questions)
    assert turn.questions[1]["plan"] == "# Plan\n\t- one ⟦U+202E⟧ two⟦U+200B⟧ ⟦U+D83D⟧ ⚠\ufe0f ⟦U+E0041⟧"
    turn.press("allow_once")
    machine.answer(turn)
    assert machine.agents.noted("ran") == ["the plan"]
