"""Sessions of other tools: samples in their formats, read into messages."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.errors import UsageProblem
from handoff_cli.readers import READERS
from handoff_cli.readers.read import read_session
from handoff_cli.readers.source import Source
from handoff_cli.transcripts.messages import MESSAGE_LIMIT, canonical
from tests.cli.conftest import Run, User

SAMPLES = Path(__file__).parent / "samples"
PROJECT = Path("/srv/parcel-tracker")


def _place(home: Path, sample: str, *parts: str, at: int = 1_000_000) -> Path:
    path = home.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(SAMPLES / sample, path)
    os.utime(path, (at, at))
    return path


def _short(messages: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [(m["role"], m.get("content") or [c["function"]["name"] for c in m.get("tool_calls", [])]) for m in messages]


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(PROJECT, {"HOME": str(tmp_path)})


@pytest.fixture
def hermes(tmp_path: Path) -> Path:
    path = tmp_path / ".hermes" / "state.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as database:
        database.executescript((SAMPLES / "hermes.sql").read_text())
    return path


def test_claude_code_gives_the_main_conversation(source: Source, tmp_path: Path) -> None:
    _place(tmp_path, "claude_code.jsonl", ".claude", "projects", "-srv-parcel-tracker", "7c1f.jsonl")
    transcript = read_session("claude-code", source)
    assert _short(transcript.messages) == [
        ("user", "Why is the upload test flaky?"),
        ("assistant", "I'll read the test first."),
        ("tool", "def test_resumes(): ..."),
        ("tool", "1 failed\n[image]"),
        ("assistant", "A chunk is sent twice after a broken connection."),
        ("user", "Fix it, please.\n[image]"),
        ("assistant", "Done: the offset is sent along."),
    ]
    calls = transcript.messages[1]["tool_calls"]
    assert [call["id"] for call in calls] == [m["tool_call_id"] for m in transcript.messages[2:4]]
    assert (transcript.title, transcript.model) == ("Flaky upload test", "claude-sonnet-4-5-20250929")
    assert transcript.cwd == "/srv/parcel-tracker"


def test_claude_code_takes_the_newest_conversation(source: Source, tmp_path: Path) -> None:
    folder = (".claude", "projects", "-srv-parcel-tracker")
    _place(tmp_path, "claude_code.jsonl", *folder, "old.jsonl", at=1_000)
    newer = _place(tmp_path, "claude_code.jsonl", *folder, "newer.jsonl", at=2_000)
    newer.write_text('{"type":"user","message":{"role":"user","content":"newer words"}}\n')
    os.utime(newer, (2_000, 2_000))
    _place(tmp_path, "claude_code.jsonl", *folder, "agent-1.jsonl", at=4_000)
    empty = tmp_path.joinpath(*folder, "summary-only.jsonl")
    empty.write_text('{"type":"summary","summary":"x"}\n')
    assert read_session("claude-code", source).messages == [{"role": "user", "content": "newer words"}]


def test_codex_gives_messages_and_calls_without_its_own(source: Source, tmp_path: Path) -> None:
    day = (".codex", "sessions", "2026", "10", "02")
    _place(tmp_path, "codex.jsonl", *day, "rollout-2026-10-02T10-00-00-019a.jsonl")
    _place(tmp_path, "codex_without_envelope.jsonl", *day, "rollout-newer.jsonl", at=9_000_000)
    transcript = read_session("codex", source)
    assert _short(transcript.messages) == [
        ("user", "Why is the upload test flaky?\n[image]"),
        ("assistant", ["shell", "apply_patch"]),
        ("tool", '{"output":"1 failed","metadata":{"exit_code":1}}'),
        ("tool", "Success"),
        ("assistant", "A chunk is sent twice."),
        ("assistant", ["shell"]),
    ]
    assert (transcript.model, transcript.cwd) == ("gpt-5-codex", "/srv/parcel-tracker")


def test_old_codex_files_have_no_envelope(tmp_path: Path) -> None:
    _place(tmp_path, "codex_without_envelope.jsonl", ".codex", "sessions", "rollout-1.jsonl")
    transcript = read_session("codex", Source(Path("/srv/old"), {"HOME": str(tmp_path)}))
    assert _short(transcript.messages) == [("user", "hello"), ("assistant", "hi")]


def test_codex_titles_come_from_its_index(source: Source, tmp_path: Path) -> None:
    _place(tmp_path, "codex.jsonl", ".codex", "sessions", "rollout-1.jsonl")
    index = tmp_path / ".codex" / "session_index.jsonl"
    index.write_text('{"id":"019a2d7a-41c4-78b1-b7cc-a45d62a89cd5","thread_name":"Flaky","updated_at":"x"}\n')
    assert read_session("codex", source).title == "Flaky"


def test_hermes_gives_the_newest_session_of_the_directory(source: Source, hermes: Path) -> None:
    transcript = read_session("hermes", source)
    assert _short(transcript.messages) == [
        ("user", "Why is the upload test flaky?"),
        ("assistant", ["terminal"]),
        ("tool", "1 failed"),
        ("user", [{"type": "text", "text": "and this?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]),
        ("assistant", "A chunk is sent twice."),
    ]
    assert (transcript.title, transcript.model) == ("Flaky upload #2", "some-model")


def test_hermes_without_a_directory_column_takes_the_newest(source: Source, hermes: Path) -> None:
    with closing(sqlite3.connect(hermes)) as database:
        database.execute("ALTER TABLE sessions DROP COLUMN cwd")
        database.execute("ALTER TABLE messages DROP COLUMN active")
        database.commit()
    assert read_session("hermes", source).title == "Elsewhere"


def test_hermes_takes_a_branch_of_the_persons_own(source: Source, hermes: Path) -> None:
    with closing(sqlite3.connect(hermes)) as database:
        database.execute("""UPDATE sessions SET model_config = '{"_branched_from": "leaf"}' WHERE id = 'helper'""")
        database.commit()
    assert _short(read_session("hermes", source).messages) == [("user", "do a part of it")]


def test_hermes_keeps_its_order_when_the_clock_steps_back(source: Source, hermes: Path) -> None:
    before = read_session("hermes", source).messages
    with closing(sqlite3.connect(hermes)) as database:
        database.execute("UPDATE messages SET timestamp = 1000 - timestamp WHERE session_id = 'leaf'")
        database.commit()
    assert read_session("hermes", source).messages == before


def test_hermes_calls_come_without_its_own_keys(source: Source, hermes: Path) -> None:
    function = {"name": "terminal", "arguments": {"command": "ls"}, "more": 1}
    call = {"id": "c1", "call_id": "c1", "response_item_id": "fc_1", "type": "function", "function": function}
    with closing(sqlite3.connect(hermes)) as database:
        database.execute("UPDATE messages SET tool_calls = ? WHERE tool_calls IS NOT NULL", [json.dumps([call, 3])])
        database.commit()
    named = {"name": "terminal", "arguments": '{"command": "ls"}'}
    (found,) = (m["tool_calls"] for m in read_session("hermes", source).messages if "tool_calls" in m)
    assert found == [{"id": "c1", "type": "function", "function": named}]


def test_hermes_takes_a_session_by_its_id(source: Source, hermes: Path) -> None:
    assert read_session("hermes", Source(PROJECT, source.environ, session="elsew")).title == "Elsewhere"


def test_hermes_is_only_read(source: Source, hermes: Path) -> None:
    before = hermes.read_bytes()
    read_session("hermes", source)
    assert hermes.read_bytes() == before
    assert [path.name for path in hermes.parent.iterdir()] == ["state.db"]


def test_openai_roles_are_mapped_and_nulls_dropped() -> None:
    transcript = read_session("openai", Source(PROJECT, {}, SAMPLES / "openai.json"))
    assert [m["role"] for m in transcript.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert transcript.messages[2]["content"] is None
    assert transcript.messages[4] == {"role": "assistant", "content": "A cat."}
    assert transcript.model == "gpt-5"


@pytest.mark.parametrize("name", sorted(READERS))
def test_nothing_to_read_is_said_with_what_to_do(name: str, source: Source) -> None:
    with pytest.raises(UsageProblem, match="--transcript"):
        read_session(name, source)


@pytest.mark.parametrize("name", sorted(READERS))
@pytest.mark.parametrize(
    "raw", [b"", b"\x00\xff\xfe", b"[1, 2", b'{"type": "user", "message": 3}\n[]\nnull\n', b"SQLite format 3\x00"]
)
def test_a_strange_file_is_refused_in_one_sentence(name: str, raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "strange"
    path.write_bytes(raw)
    with pytest.raises(UsageProblem):
        read_session(name, Source(PROJECT, {}, path))


def test_what_is_too_long_is_cut_and_mentioned(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    use = {"type": "tool_use", "id": "t", "name": "Write", "input": {"x": "y" * 400_000}}
    rows = [
        {"type": "user", "message": {"role": "user", "content": "ä\n" * 200_000}},
        {"type": "assistant", "message": {"id": "m", "content": [use]}},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    transcript = read_session("claude-code", Source(PROJECT, {}, path))
    assert [len(canonical(message)) <= MESSAGE_LIMIT for message in transcript.messages] == [True, True]
    assert "cut here" in transcript.messages[0]["content"]
    assert transcript.notes == ("2 messages were longer than 256 KiB and were cut",)


def test_send_from_claude_code_works_in_a_pipe(run: Run, user: User, tmp_path: Path) -> None:
    project = tmp_path / "my project"
    project.mkdir()
    encoded = str(project).replace("/", "-").replace(" ", "-").replace("_", "-")
    _place(tmp_path / "home", "claude_code.jsonl", ".claude", "projects", encoded, "7c1f.jsonl")
    done = run("send", "telegram", "--from", "claude-code", "--json", cwd=project)
    assert done.returncode == 0, done.stderr
    (session,) = user.sessions
    assert (session["title"], session["source"]) == ("Flaky upload test", "claude-code")
    assert '"message_count": 7' in done.stdout
