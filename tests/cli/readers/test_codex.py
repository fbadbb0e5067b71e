"""Sessions of Codex are read as the model had seen them."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.readers.codex.messages import _words
from handoff_cli.readers.read import read_session
from handoff_cli.readers.source import Source
from tests.cli.readers.real_sessions import SAMPLES, WORK, read, said_by_user, shortened


def _codex(home: Path) -> Source:
    folder = home / ".codex" / "sessions" / "2026" / "11" / "16"
    folder.mkdir(parents=True)
    for at, sample in enumerate(sorted((SAMPLES / "codex").iterdir())):
        os.utime(shutil.copy(sample, folder), (1_000 + at, 1_000 + at))
    return Source(WORK / "cxrw2", {"HOME": str(home)})


REWOUND = "01a1e50d-9773-7851-8516-f797ebc0861c"
FORKED = "01a1e50e-32c7-7dd1-884b-3123f3cdc740"
RUNS = ["plain resume", "host speaks", "terminal after the host", "no daemon", "after quit"]


@pytest.mark.parametrize(
    ("session", "said"),
    [
        (REWOUND, ["q one", "kept two", "kept three", *RUNS]),
        (FORKED, ["q one", "kept two", "kept three", "in the fork"]),
        ("01a1e524", ["words", "! echo bang\nbang", "run: sleep 5; echo slept", "STEERED words meanwhile"]),
        ("01a1e51e-1dcc", ["my own words"]),
        ("01a1e51e-2308", ["/review"]),
    ],
)
def test_codex_gives_the_whole_thread(tmp_path: Path, session: str, said: list[str]) -> None:
    source = _codex(tmp_path)
    transcript = read_session("codex", Source(source.directory, source.environ, session=session))
    assert said_by_user(shortened(transcript.messages)) == said
    assert [m["role"] for m in transcript.messages].count("assistant") >= len(said) - 1
    assert transcript.notes == ()


def test_codex_takes_the_newest_thread_of_the_directory(tmp_path: Path) -> None:
    source = _codex(tmp_path)
    assert said_by_user(shortened(read_session("codex", source).messages))[-1] == "in the fork"


def test_codex_never_takes_a_sub_agent_for_the_session(tmp_path: Path) -> None:
    source = _codex(tmp_path)
    transcript = read_session("codex", Source(WORK / "cxrev", source.environ))
    assert said_by_user(shortened(transcript.messages)) == ["/review"]


def test_codex_says_that_the_base_is_missing(tmp_path: Path) -> None:
    path = next((SAMPLES / "codex").glob(f"*{FORKED}.jsonl"))
    transcript = read_session("codex", Source(WORK, {"HOME": str(tmp_path)}, Path(shutil.copy(path, tmp_path))))
    assert said_by_user(shortened(transcript.messages)) == ["in the fork"]
    assert "beginning of this session" in transcript.notes[0]


def _item(role: str, text: str) -> dict[str, Any]:
    payload = {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}
    return {"type": "response_item", "payload": payload}


def test_codex_summaries_and_rolled_back_turns_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rollout-1.jsonl"
    rows = [
        _item("user", "one"),
        _item("assistant", "first"),
        _item("assistant", "Summary: one was asked."),
        {"type": "compacted", "payload": {"message": "Another model began this.\nSummary: one was asked."}},
        _item("user", "taken back"),
        _item("assistant", "never mind"),
        {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}},
        _item("user", "two"),
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert read("codex", path) == [("user", "one"), ("assistant", "first"), ("user", "two")]


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        (
            '[{"question": "Which colour?", "answer": "blue", "questionItemId": "q"}]',
            "To your question “Which colour?”: blue",
        ),
        ("broken", ""),
    ],
)
def test_answers_to_questions_that_do_not_block_are_the_users_words(written: str, read_as: str) -> None:
    text = f"<send_user_message_question_reply>{written}</send_user_message_question_reply>"
    assert _words({}, text) == read_as
