"""Voice messages at the runner: the user's own command turns them into words, and whatever it does, nothing is blocked."""

import asyncio
import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, cast

import pytest

from handoff_cli.runner.machine.groups import group_alive
from handoff_cli.runner.runner import Runner
from handoff_cli.runner.settings import Settings
from handoff_cli.runner.voice import Transcriptions
from handoff_cli.runner.wire.service import RunnerService
from tests.cli.runner.conftest import QUICK, Machine, local_runner
from tests.journeys.test_files import given
from tests.support.runner_service import RunnerThread

OGG = b"OggS and a voice"
NAMED = f"{hashlib.sha256(OGG).hexdigest()}.ogg"


class Stored:
    """A service that has one recording."""

    file_limit = 1000

    async def file(self, _: str, __: str, target: IO[bytes], *, most: int) -> str | None:
        target.write(OGG[:most])
        return hashlib.sha256(OGG[:most]).hexdigest()


def runner_with(
    tmp_path: Path, command: tuple[str, ...], seconds: float = 20, environ: Mapping[str, str] | None = None
) -> Runner:
    service, clock = cast("RunnerService", Stored()), replace(QUICK, transcribing=seconds)
    runner = replace(local_runner(tmp_path, clock), settings=Settings(voice=command), service=service)
    return replace(runner, environ={**runner.environ, **(environ or {})})


def told(
    tmp_path: Path,
    code: str,
    *,
    named: str = NAMED,
    command: tuple[str, ...] = (),
    seconds: float = 20,
    environ: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The answer to an order, from a command that runs this code."""
    words = command or (sys.executable, "-c", f"import json, os, sys, time\n{code}")
    runner = runner_with(tmp_path, words, seconds, environ)
    return asyncio.run(Transcriptions(runner).of("s-1", named))


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


def test_a_command_gets_no_token(tmp_path: Path) -> None:
    """It could speak in the user's name with it."""
    environ = {"HANDOFF_TOKEN": "t-1", "HANDOFF_URL": "http://here"}
    answer = told(tmp_path, "print(sorted(name for name in os.environ if 'HANDOFF' in name))", environ=environ)
    assert answer["text"] == "['HANDOFF_URL']"


def test_commands_run_one_after_the_other(tmp_path: Path) -> None:
    alone = (
        f"open({str(tmp_path / 'at-work')!r}, 'x').close(); os.remove({str(tmp_path / 'at-work')!r}); print('alone')"
    )
    runner = runner_with(tmp_path, (sys.executable, "-c", f"import os\n{alone}"))

    async def three_at_once() -> list[dict[str, Any]]:
        transcriptions = Transcriptions(runner)
        return await asyncio.gather(*(transcriptions.of("s-1", NAMED) for _ in range(3)))

    assert [answer["text"] for answer in asyncio.run(three_at_once())] == ["alone"] * 3


def speak(thread: RunnerThread) -> None:
    thread.say("", files=[{**given("voice.ogg", "audio/ogg", OGG), "kind": "voice"}])


def transcribes(machine: Machine, code: str) -> RunnerThread:
    """A thread of a runner with this program, that the service knows of."""
    machine.settings = Settings(warm=0, parallel=1, voice=(sys.executable, "-c", code))
    thread = machine.hand_over()
    machine.start()
    # The service knows what the runner does once that polls.
    machine.wait(lambda: machine.proxy.calls("GET", ".*/turns"))
    return thread


def test_turns_wait_for_no_command(machine: Machine) -> None:
    marker = machine.home / "began"
    thread = transcribes(machine, f"import time; open({str(marker)!r}, 'x'); time.sleep(600)")
    speak(thread)
    machine.wait(marker.exists)
    machine.answer(machine.say("hello", native_id="n-2"))


def test_stop_while_a_command_is_at_work(machine: Machine) -> None:
    marker = machine.home / "go"
    code = f"import os, time\nwhile not os.path.exists({str(marker)!r}): time.sleep(0.01)\nprint('Delete it.')"
    thread = transcribes(machine, code)
    speak(thread)
    machine.wait(lambda: machine.proxy.calls("POST", ".*/take"))
    thread.say("/stop")
    turn = machine.service.say(thread, "hello")
    marker.touch()
    machine.wait(lambda: machine.proxy.calls("POST", ".*/answer"))
    machine.answer(turn)
    assert [message["content"] for message in turn.messages if message["role"] == "user"] == ["hello"]
    assert not any("Delete" in text for text in [*thread.bot_texts(), *machine.agents.noted("prompt")])


def test_no_words_reach_the_log_of_the_runner(machine: Machine) -> None:
    thread = transcribes(machine, "import sys; print('Delete it.'); print('Delete it.', file=sys.stderr)")
    turn = machine.service.turn_of(thread)
    speak(thread)
    machine.answer(turn)
    assert "Delete" not in machine.log + machine.output.getvalue()


def test_what_is_spoken_in_the_thread_reaches_the_agent(machine: Machine) -> None:
    thread = transcribes(machine, "print('/approve one')")
    turn = machine.service.turn_of(thread)
    speak(thread)
    machine.answer(turn)
    assert turn.messages[0]["content"] == "[spoken, as it was understood:]\n/approve one"
    assert any("/approve one" in text for text in machine.agents.noted("prompt"))
    assert len(thread.bot_texts("Heard: /approve one")) == 1
