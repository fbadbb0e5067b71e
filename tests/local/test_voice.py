"""The question of `handoff setup` about voice messages."""

import sys
from pathlib import Path

import pytest

from local.chats.set_up import Person
from local.server.settings_file import add_settings, read_settings
from local.voice import MODEL, URL, Voice, ask_about_voice
from shared.voice import COMMAND
from tests.support.servers import HttpServer, Response, json_response


class Typing(Person):
    """A person who types these lines, and notes what is said."""

    def __init__(self, *typed: str, may_ask: bool = True) -> None:
        super().__init__(may_ask=may_ask)
        object.__setattr__(self, "typed", list(typed))
        object.__setattr__(self, "shown", [])

    def say(self, text: str) -> None:
        self.__dict__["shown"].append(text)

    def line(self, question: str) -> str:  # noqa: ARG002  # the interface
        return str(self.__dict__["typed"].pop(0))

    hidden = line

    @property
    def said(self) -> str:
        return "\n".join(self.__dict__["shown"])


def program(directory: Path, code: str) -> str:
    path = directory / "transcribe it.py"
    path.write_text(f"import sys, wave\nwave.open(sys.argv[1]).close()\n{code}\n")
    return f"{sys.executable} '{path}'"


@pytest.mark.parametrize("answer", ["", "1", "no"])
def test_nothing_is_the_usual_answer(answer: str) -> None:
    assert ask_about_voice(Typing(answer), "this machine") is None


def test_a_script_is_not_asked() -> None:
    assert ask_about_voice(Typing(may_ask=False), "this machine") is None


def test_a_server_is_tried_before_it_counts() -> None:
    with HttpServer(json_response({"text": ""})) as server:
        voice = ask_about_voice(Typing("2", "", server.url, "sk-1"), "this machine")
        [request] = server.requests
    assert voice == Voice({MODEL: "whisper-1", URL: server.url}, "sk-1")
    assert request.headers["authorization"] == "Bearer sk-1"
    assert "sk-1" not in repr(voice)


def test_a_server_that_refuses_is_named_and_may_be_left() -> None:
    with HttpServer(Response(401)) as server:
        person = Typing("2", "m", server.url, "wrong", "2", "m", "localhost", "", "1")
        assert ask_about_voice(person, "this machine") is None
    assert "a second of silence: the transcriber refused it (HTTP 401). Choose again" in person.said
    assert "must begin with http:// or https://" in person.said
    assert "wrong" not in person.said


def test_a_program_is_tried_and_read_again_as_it_was_typed(tmp_path: Path) -> None:
    command = program(tmp_path, "print()")
    voice = ask_about_voice(Typing("3", command), "this machine")
    assert voice == Voice({COMMAND: command})
    add_settings(tmp_path / "settings", voice.settings)
    assert read_settings(tmp_path / "settings") == {COMMAND: command}
    assert (tmp_path / "settings").stat().st_mode & 0o777 == 0o600


def test_a_program_that_fails_is_not_kept(tmp_path: Path) -> None:
    person = Typing("3", program(tmp_path, "sys.exit(1)"), "3", "'open", "3", "")
    assert ask_about_voice(person, "this machine") is None
    assert "a second of silence: the transcriber failed" in person.said
    assert person.said.count("no command") == 2


def test_a_program_of_another_machine_is_not_tried() -> None:
    voice = ask_about_voice(Typing("3", "not-here --fast"), "that machine", tries_program=False)
    assert voice == Voice({COMMAND: "not-here --fast"})
