"""Voice messages in a thread become words, by a server or by a program on the machine of the service."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from local.service import LocalService
from shared.voice.openai import KEY
from tests.journeys.test_files import given
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.one_machine import one_machine
from tests.support.platform_cases import PLATFORMS
from tests.support.server_process import user_of
from tests.support.servers import HttpServer, json_response

OGG = b"OggS and a voice"
WORDS = "Slash approve one, please."


@contextmanager
def by_a_server(_: Path) -> Iterator[ApiUser]:
    with HttpServer(json_response({"text": WORDS})) as server:
        parameters = {"VoiceModel": "whisper-1", "VoiceUrl": server.url}
        with LocalService(mode="in_process", parameters=parameters, secrets={KEY: "sk-1"}) as service:
            yield user_of(service)
        [request] = server.requests
        assert request.headers["authorization"] == "Bearer sk-1"
        assert OGG in request.body


@contextmanager
def by_a_program(directory: Path) -> Iterator[ApiUser]:
    program = directory / "transcribe.py"
    program.write_text(f"import sys\nassert open(sys.argv[1], 'rb').read() == {OGG!r}\nprint({WORDS!r})\n")
    with one_machine(directory, {"HANDOFF_VOICE_COMMAND": f"{sys.executable} '{program}'"}) as server:
        yield user_of(server)


@pytest.mark.parametrize("way", [by_a_server, by_a_program])
def test_a_voice_message_is_words(way: Callable[[Path], AbstractContextManager[ApiUser]], tmp_path: Path) -> None:
    with way(tmp_path) as user:
        thread = ChatThread(user, PLATFORMS[0])
        thread.say("", files=[{**given("voice.ogg", "audio/ogg", OGG), "kind": "voice"}])
        thread.wait_for(f"Heard: {WORDS}")
        thread.wait_for("spoken, as it was understood")
        assert thread.contents()[-2] == f"[spoken, as it was understood:]\n{WORDS}"
