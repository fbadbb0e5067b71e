"""Transcribers against a server and programs of this test: whatever they do, words or a reason, and in time."""

import json
import os
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from shared.errors import NotTranscribed
from shared.ports.transcriber import LONGEST_WORDS, Recording
from shared.voice.command import CommandTranscriber
from shared.voice.openai import KEY, OpenAITranscriber
from tests.support.runner_process import ended
from tests.support.secrets import FakeSecrets
from tests.support.servers import DROP, HANG, TRICKLE, HttpServer, Response, json_response
from tests.support.waiting import eventually

OGG = b"OggS and a voice"


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    path = tmp_path / "a recording; touch here.ogg"
    path.write_bytes(OGG)
    return Recording(path, "voice.ogg", "audio/ogg")


def heard(answer: Response, recording: Recording, *, seconds: float = 5.0, key: str = "sk-1") -> str:
    with HttpServer(answer) as server:
        words = OpenAITranscriber(f"{server.url}/v1/", "whisper-1", FakeSecrets({KEY: key} if key else {})).words(
            recording, seconds=seconds
        )
        [request] = server.requests
        assert (request.method, request.path) == ("POST", "/v1/audio/transcriptions")
        assert OGG in request.body
        assert b'filename="voice.ogg"' in request.body
        assert b"whisper-1" in request.body
        assert request.headers.get("authorization") == (f"Bearer {key}" if key else None)
        return words


@pytest.mark.parametrize("key", ["sk-1", ""])
def test_a_server_gives_words(recording: Recording, key: str) -> None:
    assert heard(json_response({"text": " Run the\n tests. "}), recording, key=key) == "Run the tests."


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (json_response({"error": {"message": "no"}}, 400), "refused it .HTTP 400"),
        (json_response({"text": 7}), "cannot be read"),
        (json_response({"words": "x"}), "cannot be read"),
        (json_response(["x"]), "cannot be read"),
        (Response(body=b"<html>", headers={"content-type": "application/json"}), "cannot be read"),
        (Response(body=b"[" * 100_000), "cannot be read"),
        (json_response({"text": "x" * (LONGEST_WORDS + 1)}), "cannot be read"),
        (Response(body=b'{"text": "' + b"x" * 1_000_000 + b'"}'), "cannot be read"),
        (Response(302, headers={"location": "http://127.0.0.1:1/"}), "refused it .HTTP 302"),
        (DROP, "does not answer"),
        (HANG, "in time"),
        (TRICKLE, "in time|cannot be read"),
    ],
)
def test_a_server_that_fails_gives_a_reason_in_time(recording: Recording, answer: Response, reason: str) -> None:
    began = time.monotonic()
    with pytest.raises(NotTranscribed, match=reason):
        heard(answer, recording, seconds=0.5)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "nonsense", "ftp://127.0.0.1"])
def test_a_server_that_is_not_there_gives_a_reason(recording: Recording, url: str) -> None:
    with pytest.raises(NotTranscribed, match="does not answer"):
        OpenAITranscriber(url, "m", FakeSecrets({})).words(recording, seconds=1)


def program(code: str, *, seconds: float = 20.0, **environ: str) -> CommandTranscriber:
    return CommandTranscriber([sys.executable, "-c", f"import os, sys, time\n{code}"], {**environ})


def test_a_program_gets_the_path_as_one_argument(recording: Recording) -> None:
    code = "import json; print(json.dumps([sys.argv[1:], sorted(os.environ), open(sys.argv[1], 'rb').read().decode()]))"
    arguments, environ, content = json.loads(program(code, A="1").words(recording, seconds=20))
    assert (arguments, content) == ([str(recording.path)], OGG.decode())
    assert set(environ) - {"A", "LC_CTYPE", "PWD", "SHLVL", "_"} == set()


@pytest.mark.parametrize(
    "code",
    ["sys.exit(1)", "print('x' * 10_000_000)", f"print('x ' * {LONGEST_WORDS})", "os.kill(os.getpid(), 9)"],
)
def test_a_program_that_fails_gives_a_reason(recording: Recording, code: str) -> None:
    with pytest.raises(NotTranscribed, match="failed"):
        program(code).words(recording, seconds=20)


def test_a_program_that_hangs_is_ended_with_what_it_has_started(recording: Recording, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = f"child = os.fork(); open({str(pids)!r}, 'a').write(str(os.getpid()) + ' '); time.sleep(600)"
    with pytest.raises(NotTranscribed, match="in time"):
        program(code).words(recording, seconds=1.5)
    for pid in pids.read_text().split():
        eventually(partial(ended, pid))  # a process dies a moment after it was killed


def test_a_program_that_is_not_there_gives_a_reason(recording: Recording) -> None:
    with pytest.raises(NotTranscribed, match="failed"):
        CommandTranscriber([os.devnull + "/nothing"], {}).words(recording, seconds=1)
