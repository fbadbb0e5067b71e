"""Sessions of Gemini CLI are read as the model had seen them."""

import os
import shutil
from pathlib import Path

import pytest

from handoff_cli.readers.read import read_session
from handoff_cli.readers.source import Source
from tests.cli.readers.real_sessions import FAKE, SAMPLES, TOOL, WORK, read, shortened

GEMINI = [
    ("user", "hello gemini"),
    FAKE,
    ("user", "run: echo from-gemini"),
    ("assistant", "run_shell_command__run_shell_command_1794867906542_0"),
    ("tool", "<untrusted_context>\nOutput: from-gemini\nProcess Group PGID: 19690\n</untrusted_context>"),
    TOOL,
    ("user", "and after"),
    FAKE,
]


@pytest.fixture
def gemini(tmp_path: Path) -> Source:
    folder = tmp_path / ".gemini" / "tmp" / "gem"
    (folder / "chats").mkdir(parents=True)
    (folder / ".project_root").write_text("/home/me/work/gem")
    (sample,) = (SAMPLES / "gemini").iterdir()
    os.utime(shutil.copy(sample, folder / "chats"), (1_000, 1_000))
    # A resume leaves a newer file with a header and no words.
    (folder / "chats" / "session-2026-11-16T22-25-8979fdff.jsonl").write_text(sample.read_text().splitlines()[0])
    return Source(WORK / "gem", {"HOME": str(tmp_path)})


def test_gemini_gives_the_messages_after_all_changes(gemini: Source) -> None:
    transcript = read_session("gemini", gemini)
    assert shortened(transcript.messages) == GEMINI
    assert transcript.model == "gemini-3.8-flash"
    named = Source(WORK, gemini.environ, session="8979fdff")
    assert read_session("gemini", named).messages == transcript.messages


def test_gemini_rewinds_to_a_message(gemini: Source, tmp_path: Path) -> None:
    (sample,) = (SAMPLES / "gemini").iterdir()
    path = tmp_path / "rewound.jsonl"
    path.write_text(sample.read_text() + '{"$rewindTo": "9deb942e-0d8a-48ef-8bdf-84603411253e"}\n')
    assert read("gemini", path) == GEMINI[:6]
