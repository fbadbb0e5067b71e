"""Voice messages at the runner: the user's own command turns them into words, and whatever it does, nothing is blocked."""

import asyncio
import hashlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, cast

import pytest

from handoff_cli.runner.machine.groups import group_alive
from handoff_cli.runner.settings import Settings
from handoff_cli.runner.voice import transcribed
from handoff_cli.runner.wire.service import RunnerService
from tests.cli.runner.conftest import QUICK, Machine, local_runner
from tests.journeys.test_files import given

OGG = b"OggS and a voice"
NAMED = f"{hashlib.sha256(OGG).hexdigest()}.ogg"


class Stored:
    """A service that has one recording."""

    file_limit = 1000

    async def file(self, _: str, __: str, target: IO[bytes], *, most: int) -> str | None:
        target.write(OGG[:most])
        return hashlib.sha256(OGG[:most]).hexdigest()


def told(
    tmp_path: Path, code: str, *, named: str = NAMED, command: tuple[str, ...] = (), seconds: float = 20
) -> dict[str, Any]:
    """The answer to an order, from a command that runs this code."""
    words = command or (sys.executable, "-c", f"import json, os, sys, time\n{code}")
    service = cast("RunnerService", Stored())
    clock = replace(QUICK, transcribing=seconds)
    runner = replace(local_runner(tmp_path, clock), settings=Settings(voice=words), service=service)
    return asyncio.run(transcribed(runner, "s-1", named))


def test_a_command_gets_a_recording_as_one_argument_and_no_shell(tmp_path: Path) -> None:
    answer = told(tmp_path, "print(json.dumps([sys.argv[1:], open(sys.argv[1], 'rb').read().decode()]))")
    [path], content = json.loads(answer["text"])
    assert (answer["outcome"], content, Path(path).suffix) == ("done", OGG.decode(), ".ogg")
    assert not Path(path).exists(), "the recording is not kept"


def test_what_it_prints_is_one_line(tmp_path: Path) -> None:
    assert told(tmp_path, r"print(' Run\n the \t tests. ')") == {"outcome": "done", "text": "Run the tests."}


@pytest.mark.parametrize(
    "code",
    [
        "sys.exit(1)",
        "print('x' * 10_000_000)",
        "print('x ' * 16_001)",
        "os.kill(os.getpid(), 9)",
        "print('x'); raise E",
    ],
)
def test_a_command_that_fails_gives_a_reason(tmp_path: Path, code: str) -> None:
    assert told(tmp_path, code) == {"outcome": "refused", "text": "the transcriber failed"}


def test_a_command_that_is_not_there_gives_a_reason(tmp_path: Path) -> None:
    assert told(tmp_path, "", command=(os.devnull + "/nothing",))["text"] == "the transcriber failed"


@pytest.mark.parametrize("named", ["", "../../etc/passwd", f"{NAMED}; touch x", "0" * 64 + ".ogg"])
def test_only_the_recording_that_was_stored_is_transcribed(tmp_path: Path, named: str) -> None:
    assert told(tmp_path, "print('words')", named=named)["text"] == "its recording cannot be had"


def test_a_command_that_hangs_is_ended_with_what_it_has_started(
    tmp_path: Path,
) -> None:
    pid = tmp_path / "pid"
    hangs = f"open({str(pid)!r}, 'w').write(str(os.getpid())); os.fork(); time.sleep(600)"
    assert told(tmp_path, hangs, seconds=1.5) == {
        "outcome": "refused",
        "text": "the transcriber did not answer in time",
    }
    assert not group_alive(int(pid.read_text()))


def test_what_is_spoken_in_the_thread_reaches_the_agent(machine: Machine) -> None:
    machine.settings = Settings(warm=0, voice=(sys.executable, "-c", "print('/approve one')"))
    thread = machine.hand_over()
    machine.start()
    # The service knows what the runner does once that polls.
    machine.wait(lambda: machine.proxy.calls("GET", ".*/turns"))
    turn = machine.service.turn_of(thread)
    thread.say("", files=[{**given("voice.ogg", "audio/ogg", OGG), "kind": "voice"}])
    machine.answer(turn)
    assert turn.messages[0]["content"] == "[spoken, as it was understood:]\n/approve one"
    assert any("/approve one" in text for text in machine.agents.noted("prompt"))
    assert len(thread.bot_texts("Heard: /approve one")) == 1
