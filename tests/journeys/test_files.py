"""Files that people send in a thread: the agent has each once, in order, byte for byte."""

import base64
import hashlib
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import httpx
import pytest

from local.service import LocalService
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.http_machine import Machine, MachineThread
from tests.support.one_machine import one_machine
from tests.support.platform_cases import DEFAULT_PLATFORM, PLATFORMS
from tests.support.server_process import user_of
from tests.support.waiting import eventually

ENGINES = ["functions", "one machine"]
QUICK = [(DEFAULT_PLATFORM, "functions"), (PLATFORMS[1], "one machine")]
"""One platform for each engine before each commit; the others, and what is longer, in the deep tier."""
CASES = [
    pytest.param(platform, engine, marks=pytest.mark.tier("test" if (platform, engine) in QUICK else "deep"))
    for platform in PLATFORMS
    for engine in ENGINES
]
PNG = b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(200_000)  # noqa: S311  # several reads of a stream


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], ApiUser]]:
    """The owner of a service on an engine; each engine is started once."""
    running: dict[str, Any] = {}
    stack: list[AbstractContextManager[Any]] = []

    def user(engine: str) -> ApiUser:
        if engine not in running:
            service = (
                LocalService(mode="in_process") if engine == ENGINES[0] else one_machine(tmp_path_factory.mktemp("one"))
            )
            stack.append(service)
            running[engine] = service.__enter__()
        return user_of(running[engine])

    yield user
    for service in reversed(stack):
        service.__exit__(None, None, None)


def given(name: str, media_type: str, data: bytes) -> dict[str, str]:
    return {"name": name, "type": media_type, "data": base64.b64encode(data).decode()}


def said_with_files(thread: ChatThread) -> list[dict[str, Any]]:
    return [message for message in thread.user.transcript(thread.session_id) if "files" in message]


def files_read(thread: ChatThread, count: int) -> list[bytes]:
    """The bytes of the files in the transcript, each compared with its digest."""
    eventually(lambda: sum(len(message["files"]) for message in said_with_files(thread)) >= count)
    found = []
    for file in [file for message in said_with_files(thread) for file in message["files"]]:
        answer = thread.user.http.get(f"/sessions/{thread.session_id}/files/{file['id']}")
        content = httpx.get(answer.headers["location"]).content if answer.is_redirect else answer.content
        assert hashlib.sha256(content).hexdigest() == file["sha256"]
        assert len(content) == file["size"]
        found.append(content)
    return found


@pytest.mark.parametrize(("platform", "engine"), CASES)
def test_files_arrive_once_and_in_order(engines: Callable[[str], ApiUser], platform: str, engine: str) -> None:
    thread = ChatThread(engines(engine), platform)

    thread.say("What is wrong here?", files=[given("board.png", "image/png", PNG)])
    thread.wait_for("What is wrong here?")
    thread.say("", files=[given("run.log", "text/plain", b"line\n" * 1000)])

    assert files_read(thread, 2) == [PNG, b"line\n" * 1000]
    first, second = said_with_files(thread)
    assert str(first["content"]).startswith("What is wrong here?")
    assert "attached" in str(second["content"])
    assert not thread.bot_texts("cannot read")


@pytest.mark.parametrize(("platform", "engine"), CASES)
def test_three_pictures_are_all_there(engines: Callable[[str], ApiUser], platform: str, engine: str) -> None:
    thread = ChatThread(engines(engine), platform)
    pictures = [PNG + bytes([number]) for number in range(3)]

    thread.say("all three", files=[given(f"{n}.png", "image/png", one) for n, one in enumerate(pictures)])

    assert files_read(thread, 3) == pictures
    eventually(lambda: thread.replies("all three"))


@pytest.mark.parametrize(("platform", "engine"), CASES)
def test_a_file_sent_while_the_agent_works_is_answered_next(
    engines: Callable[[str], ApiUser], platform: str, engine: str
) -> None:
    thread = ChatThread(engines(engine), platform)
    thread.say("rehearse: slow 2")
    eventually(lambda: thread.session()["turn_running"])

    thread.say("And this?", files=[given("board.png", "image/png", PNG)])

    assert files_read(thread, 1) == [PNG]
    thread.wait_for("And this?")
    asked = [
        str(message["content"]) for message in thread.user.transcript(thread.session_id) if message["role"] == "user"
    ]
    assert asked[-2] == "rehearse: slow 2"
    assert asked[-1].startswith("And this?")


@pytest.mark.parametrize(("platform", "engine"), QUICK)
def test_a_file_sent_while_the_own_agent_works_is_given_to_it(
    engines: Callable[[str], ApiUser], platform: str, engine: str
) -> None:
    user = engines(engine)
    thread = MachineThread(user, machine := Machine(user), platform)
    thread.say("first")
    turn = machine.claim(thread.session_id).begin()

    thread.say("And this?", files=[given("board.png", "image/png", PNG)])
    (late,) = eventually(lambda: turn.report()["steered"])
    assert [file["sha256"] for file in late["files"]] == [hashlib.sha256(PNG).hexdigest()]
    assert turn.report(acknowledged=[late["id"]])["steered"] == []
    turn.reply("Both are done", given=[*turn.given, late["id"]]).raise_for_status()

    thread.wait_for("Both are done")
    assert files_read(thread, 1) == [PNG]
