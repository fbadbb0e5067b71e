"""A turn with 2,000 tool calls and 50 MB of their output: little memory, small requests, one commit."""

import json

from handoff_cli.runner.acp.record import Record
from tests.cli.runner.conftest import Machine
from tests.support.runner_process import RunnerProcess

CALLS, SIZE = 2000, 25_000


def test_a_long_turn_needs_little_memory_and_small_requests(machine: Machine) -> None:
    turn = machine.say(f"do: tools {CALLS} {SIZE}")
    program = RunnerProcess(machine.agents, machine.proxy.url, machine.service.token)
    process = program.start()
    try:
        machine.answer(turn)
        peak = _peak(process.pid)
    finally:
        program.stop_all()
    assert turn.reply == "All done."
    assert turn.results[0]["summary"]["steps"] == CALLS
    assert turn.results[0]["summary"]["files"] == 7
    assert peak < 160 * 1024, f"{peak} KiB"
    assert max(len(request.body) for request in machine.proxy.calls("POST", ".*/events")) < 64 * 1024
    assert len(json.dumps(turn.results[0])) < 1024 * 1024
    assert "earlier steps are left out here" in turn.results[0]["messages"][0]["content"]


def _peak(pid: int) -> int:
    """The most memory that the process had, in KiB."""
    with open(f"/proc/{pid}/status") as file:  # noqa: PTH123 - a file of the kernel
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def test_words_of_any_length_are_bounded() -> None:
    import acp  # noqa: PLC0415 - slow to import

    record = Record()
    for _ in range(1000):
        record.add(acp.update_agent_message_text("w" * 1000))
    (message,) = record.messages(record.reply)
    assert 200_000 < len(message["content"]) < 256 * 1024
    assert len(record.progress()["text"]) <= 2000
