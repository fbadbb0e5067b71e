"""The file `settings`: its format, what it must not reveal, and that the program reads it."""

import time
from pathlib import Path

import pytest

from local.server.directory import Refused
from local.server.program import WRONG_USAGE, run
from local.server.settings_file import create_settings, known_names, read_settings


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings"


def test_each_form_of_a_line_is_read(path: Path) -> None:
    path.write_text("# a comment\n\nA=1\n B = two words \nexport C='x # y'\nD=\"q\"\nE=a=b\nF=\nG=it's\nH=$HOME\n")
    assert read_settings(path) == {
        "A": "1",
        "B": "two words",
        "C": "x # y",
        "D": "q",
        "E": "a=b",
        "F": "",
        "G": "it's",
        "H": "$HOME",
    }


def test_without_a_file_nothing_is_set(path: Path) -> None:
    assert read_settings(path) == {}


@pytest.mark.parametrize("line", ["4:secret", "A B=4:secret", "=4:secret", "A=4:secret\0", "1A=4:secret"])
def test_a_line_that_cannot_be_read_is_named_and_not_shown(path: Path, line: str) -> None:
    path.write_text(f"A=1\n{line}\n")
    with pytest.raises(Refused, match="line 2") as refused:
        read_settings(path)
    assert "secret" not in str(refused.value)


def test_a_file_that_is_no_text_is_refused(path: Path) -> None:
    path.write_bytes(b"A=\xff\n")
    with pytest.raises(Refused, match="UTF-8"):
        read_settings(path)


def test_a_new_file_sets_nothing_and_is_private(path: Path) -> None:
    assert create_settings(path)
    assert read_settings(path) == {}
    assert path.stat().st_mode & 0o777 == 0o600
    assert [name for name in known_names() if "AGENT" in name and f"#{name}=\n" not in path.read_text()] == []
    assert "#TELEGRAM_BOT_TOKEN=\n" in path.read_text()
    path.write_text("A=1\n")
    assert not create_settings(path)
    assert path.read_text() == "A=1\n"


def test_the_program_reads_it_and_the_environment_wins(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_text("HANDOFF_AGENT=from-the-file\n")
    arguments = ["--data", str(path.parent)]

    assert run(arguments, {}, time.monotonic()) == WRONG_USAGE
    assert "HANDOFF_AGENT=from-the-file is not a known agent" in capsys.readouterr().err
    assert run(arguments, {"HANDOFF_AGENT": "from-outside"}, time.monotonic()) == WRONG_USAGE
    assert "HANDOFF_AGENT=from-outside is not a known agent" in capsys.readouterr().err
    path.write_text("HANDOFF_AGENT\n")
    assert run(arguments, {}, time.monotonic()) == WRONG_USAGE
    assert "line 1" in capsys.readouterr().err
