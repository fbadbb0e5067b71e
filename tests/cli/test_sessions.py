"""`handoff sessions`, `resume`, `history` and `export`."""

import json
from pathlib import Path
from typing import Any

import pytest

from handoff_cli import arguments
from handoff_cli.transcripts.messages import digest
from tests.cli.conftest import Run, User
from tests.support.fault_proxy import FaultProxy

MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]


@pytest.fixture
def session(user: User) -> str:
    return user.session("Flaky upload", MESSAGES)


def test_resume_shows_the_new_messages(run: Run, user: User, session: str) -> None:
    user.hand_over(session)
    done = run("resume", "FLAKY")
    assert done.returncode == 0, done.stderr
    assert "New messages" in done.stdout
    assert "Confirmed: this session arrived" in done.stdout
    assert "you:" not in done.stdout  # the kickoff is internal
    assert user.api.session(session)["owner"] == "cli"


def test_resume_of_a_local_session_shows_the_last_messages(run: Run, session: str) -> None:
    assert "Last messages" in run("resume", session).stdout
    assert json.loads(run("resume", session, "--json").stdout)["meanwhile"] == []


def test_resume_fork_leaves_the_original_where_it_is(run: Run, user: User, session: str) -> None:
    user.hand_over(session)
    done = run("resume", session, "--fork", "--json")
    copy = json.loads(done.stdout)["session"]
    assert copy["id"] != session
    assert user.api.session(session)["owner"] != "cli"


@pytest.mark.parametrize("name", ["Flaky upload", "flaky UPLOAD", "fla"])
def test_a_session_is_found_by_title(run: Run, user: User, session: str, name: str) -> None:
    user.session("Other")
    assert json.loads(run("history", name, "--json").stdout) == MESSAGES


@pytest.mark.parametrize("length", [32, 12])
def test_a_session_is_found_by_id(run: Run, user: User, session: str, length: int) -> None:
    user.session("Other")
    assert json.loads(run("history", session[:length], "--json").stdout) == MESSAGES


def test_an_exact_title_wins_over_longer_ones(run: Run, user: User, session: str) -> None:
    user.session("Flaky upload, part 2")
    assert json.loads(run("history", "flaky upload", "--json").stdout) == MESSAGES


def test_an_ambiguous_name_lists_the_candidates(run: Run, user: User, session: str) -> None:
    other = user.session("Flaky download")
    done = run("history", "flaky", "--json")
    assert done.returncode == 2
    assert session[:12] in done.stderr
    assert other[:12] in done.stderr
    assert {c["id"] for c in json.loads(done.stdout)["error"]["candidates"]} == {session, other}


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_matches_no_session(run: Run, proxy: FaultProxy, user: User, name: str) -> None:
    user.session()
    assert run("resume", name).returncode == 1
    assert proxy.calls("POST", "/sessions/.*") == []


def test_an_unknown_name_says_how_to_list_sessions(run: Run, session: str) -> None:
    done = run("export", "nothing/like it")
    assert (done.returncode, "handoff sessions" in done.stderr) == (1, True)


def test_sessions_are_listed_with_their_place(run: Run, user: User, session: str) -> None:
    link = user.hand_over(session)["thread"]["url"]
    done = run("sessions")
    assert "Flaky upload" in done.stdout
    assert link in done.stdout
    assert json.loads(run("sessions", "--json").stdout)[0]["id"] == session


def test_columns_are_aligned_after_wide_characters(run: Run, user: User) -> None:
    user.session("日本語")
    user.session("abcdef")
    first, second = run("sessions").stdout.splitlines()
    assert first.index("0 messages") == second.index("0 messages") + 3


def test_control_characters_do_not_reach_the_terminal(run: Run, proxy: FaultProxy, user: User) -> None:
    def damage(answer: Any) -> None:
        answer["sessions"][0]["title"] = "a\x1b]0;owned\x07b\x1b[2J"

    user.session("harmless")
    proxy.fail("GET /sessions", change=damage)
    done = run("sessions")
    assert "owned" in done.stdout
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout


def test_history_shows_the_last_messages(run: Run, session: str) -> None:
    done = run("history", session, "--last", "1")
    assert "ho" in done.stdout
    assert "hi" not in done.stdout


@pytest.mark.parametrize("form", arguments.FORMATS)
def test_export_leaves_internal_messages_out(run: Run, user: User, session: str, form: str) -> None:
    user.hand_over(session)
    text = run("export", session, "--format", form).stdout
    if form == "markdown":
        assert "## assistant\n\nho" in text
        assert text.count("## user") == 1
    else:
        messages = json.loads(text) if form == "messages" else list(map(json.loads, text.splitlines()))
        assert messages[:2] == MESSAGES
        assert [message["role"] for message in messages] == ["user", "assistant", "assistant"]


def test_export_reads_all_pages(run: Run, user: User) -> None:
    messages = [{"role": "user", "content": str(number)} for number in range(450)]
    assert json.loads(run("export", user.session("Long", messages)).stdout) == messages


def test_an_export_can_be_sent_again(run: Run, session: str, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    assert run("export", session, "-o", str(path)).returncode == 0
    again = run("send", "telegram", "--transcript", str(path), "--json")
    assert json.loads(again.stdout)["receipt"]["digest"] == digest(MESSAGES)
