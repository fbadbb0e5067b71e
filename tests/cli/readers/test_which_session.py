"""Which session `--from` takes: the open one, the newest one, or the one with this id."""

import json
import os
from pathlib import Path

import pytest

from handoff_cli.errors import UsageProblem
from handoff_cli.readers.claude_code.find import folder_name
from handoff_cli.readers.read import read_session
from handoff_cli.readers.source import Source
from tests.cli.conftest import Run, User
from tests.cli.readers.real_sessions import WORK, record, said_by_user, shortened


def _claude(home: Path, project: Path, *sessions: str) -> None:
    folder = home / ".claude" / "projects" / folder_name(project)
    folder.mkdir(parents=True)
    for at, session in enumerate(sessions):
        path = folder / f"{session}.jsonl"
        path.write_text(json.dumps(record("user", "u", "", f"words of {session}")))
        os.utime(path, (1_000 + at, 1_000 + at))


def _open(home: Path, answer: str) -> dict[str, str]:
    """An environment with a `claude` that gives this answer to `claude agents --json`."""
    program = home / "bin" / "claude"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n[ \"$*\" = 'agents --json' ] || exit 9\ncat <<'E'\n{answer}\nE\n")
    program.chmod(0o755)
    return {"HOME": str(home), "PATH": f"{program.parent}:{os.environ['PATH']}"}


def _agents(*pairs: tuple[str, Path]) -> str:
    return json.dumps([{"sessionId": s, "cwd": str(cwd), "pid": 1, "status": "idle"} for s, cwd in pairs])


def _said(source: Source) -> list[str]:
    return said_by_user(shortened(read_session("claude-code", source).messages))


def test_claude_code_prefers_the_session_that_is_open(tmp_path: Path) -> None:
    _claude(tmp_path, WORK, "aaaa", "bbbb", "cccc")
    environ = _open(tmp_path, _agents(("aaaa", WORK), ("cccc", WORK / "other"), ("gone", WORK)))
    assert _said(Source(WORK, environ)) == ["words of aaaa"]


def test_several_open_sessions_are_listed(tmp_path: Path) -> None:
    _claude(tmp_path, WORK, "aaaa", "bbbb", "cccc")
    environ = _open(tmp_path, _agents(("aaaa", WORK), ("bbbb", WORK)))
    with pytest.raises(UsageProblem, match=r"bbbb, aaaa\. Choose one with --from claude-code:ID"):
        read_session("claude-code", Source(WORK, environ))
    assert _said(Source(WORK, environ, session="bbbb")) == ["words of bbbb"]


@pytest.mark.parametrize("answer", ["", "[]", "not JSON", "{}", "[1]", '[{"cwd": 1}]'])
def test_without_an_open_session_the_newest_counts(tmp_path: Path, answer: str) -> None:
    _claude(tmp_path, WORK, "aaaa", "bbbb")
    assert _said(Source(WORK, _open(tmp_path, answer))) == ["words of bbbb"]


@pytest.mark.parametrize(("wanted", "said"), [("a1", "2 sessions begin with a1: a1b, a1c"), ("z", "no session z")])
def test_an_unclear_id_is_said_with_what_to_type(tmp_path: Path, wanted: str, said: str) -> None:
    _claude(tmp_path, WORK, "a1b", "a1c", "b2")
    with pytest.raises(UsageProblem, match=said) as refused:
        read_session("claude-code", Source(WORK, {"HOME": str(tmp_path)}, session=wanted))
    assert "--from claude-code" in str(refused.value)


def test_send_takes_a_session_id_from_any_directory(run: Run, user: User, tmp_path: Path) -> None:
    _claude(tmp_path / "home", WORK, "aaaa-1", "bbbb-1")
    done = run("send", "telegram", "--from", "claude-code:aaaa", "--json")
    assert done.returncode == 0, done.stderr
    (session,) = user.sessions
    assert next(m["content"] for m in user.api.messages(session["id"])) == "words of aaaa-1"


@pytest.mark.parametrize("source", ["claude-code:", "nope", "nope:1"])
def test_an_unknown_source_is_refused(run_alone: Run, source: str) -> None:
    done = run_alone("send", "telegram", "--from", source)
    assert (done.returncode, "claude-code" in done.stderr) == (2, True)


def test_a_stored_session_and_a_tool_exclude_each_other(run_alone: Run) -> None:
    done = run_alone("send", "telegram", "--from", "codex", "--session", "x", HANDOFF_URL="http://127.0.0.1:1")
    assert (done.returncode, "--from TOOL:ID" in done.stderr) == (2, True)
