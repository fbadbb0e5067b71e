"""The commands for scripts: wait, cancel, resume, sessions, history, export, platforms, doctor, config, completion."""

import json
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.stub_service import StubService
from tests.cli.stub_state import LINK, digest

MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]


@pytest.fixture
def session(stub: StubService) -> str:
    stub.state.put_session("abc123", {"title": "Flaky upload"})
    stub.state.append("abc123", {"epoch": 0, "after": 0, "messages": MESSAGES})
    return "abc123"


def _hand_over(stub: StubService, *, whole: bool = True) -> None:
    stub.state.request_handoff({"session_id": "abc123", "platform": "telegram", "epoch": 0}, "k")
    while whole and not stub.state.handoff("h1")["done"]:
        pass


def test_wait_follows_to_the_end(run: Run, stub: StubService, session: str) -> None:
    _hand_over(stub, whole=False)
    done = run("wait", "h1")
    assert (done.returncode, LINK in done.stdout) == (0, True)


def test_wait_gives_up_after_its_time_out(run: Run, stub: StubService, session: str) -> None:
    _hand_over(stub, whole=False)
    stub.state.script.stop_after = 2
    assert run("wait", "h1", "--timeout", "0.2").returncode == 3


def test_cancel_in_time_and_too_late(run: Run, stub: StubService, session: str) -> None:
    _hand_over(stub, whole=False)
    assert run("cancel", "h1", "--json").returncode == 0
    late = run("cancel", "h1")
    assert (late.returncode, "moved already" in late.stderr) == (1, True)


def test_send_hands_over_a_session_of_the_service_with_all_its_options(
    run: Run, stub: StubService, session: str, tmp_path: Path
) -> None:
    words = tmp_path / "words.txt"
    words.write_text("Look at the diff first.\n")
    options = ["--to", "-100200", "--require-thread", "--replace", "--message", str(words), "--no-wait", "--json"]
    done = run("send", "slack", "--session", "flaky", *options)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["id"] == "h1"
    assert stub.calls("POST", "/handoffs")[0].json == {
        "session_id": "abc123",
        "platform": "slack",
        "epoch": 0,
        "target": "-100200",
        "message": "Look at the diff first.",
        "require_thread": True,
        "replace": True,
    }


def test_resume_brings_it_back_and_shows_what_was_said_meanwhile(run: Run, stub: StubService, session: str) -> None:
    _hand_over(stub)
    done = run("resume", "FLAKY")
    assert done.returncode == 0, done.stderr
    assert "I am here now." in done.stdout
    assert "Said meanwhile" in done.stdout
    assert "handed over" not in done.stdout
    assert stub.state.sessions[session]["owner"] == "cli"


def test_resume_of_a_session_that_was_not_away_shows_the_last_words(run: Run, session: str) -> None:
    done = run("resume", session)
    assert "The last words" in done.stdout
    assert json.loads(run("resume", session, "--json").stdout)["meanwhile"] == []


def test_resume_fork_leaves_the_original_where_it_is(run: Run, stub: StubService, session: str) -> None:
    _hand_over(stub)
    done = run("resume", session, "--fork", "--json")
    copy = json.loads(done.stdout)["session"]
    assert copy["id"] != session
    assert stub.state.sessions[session]["owner"] != "cli"


@pytest.mark.parametrize("name", ["abc123", "abc", "Flaky upload", "flaky UPLOAD", "fla"])
def test_a_session_is_found_as_a_person_names_it(run: Run, stub: StubService, session: str, name: str) -> None:
    stub.state.put_session("zzz", {"title": "Other"})
    assert json.loads(run("history", name, "--json").stdout) == MESSAGES


def test_an_exact_title_wins_over_longer_ones(run: Run, stub: StubService, session: str) -> None:
    stub.state.put_session("zzz", {"title": "Flaky upload, part 2"})
    assert json.loads(run("history", "flaky upload", "--json").stdout) == MESSAGES


def test_an_ambiguous_name_lists_what_it_could_be(run: Run, stub: StubService, session: str) -> None:
    stub.state.put_session("zzz", {"title": "Flaky download"})
    done = run("history", "flaky", "--json")
    assert done.returncode == 2
    assert "abc123" in done.stderr
    assert "zzz" in done.stderr
    assert {c["id"] for c in json.loads(done.stdout)["error"]["candidates"]} == {"abc123", "zzz"}


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_means_no_session(run: Run, stub: StubService, name: str) -> None:
    stub.state.put_session("abc123", {})
    assert run("resume", name).returncode == 1
    assert stub.calls("POST", "/sessions/abc123/resume") == []


def test_an_unknown_name_says_how_to_see_them_all(run: Run, session: str) -> None:
    done = run("export", "nothing/like it")
    assert (done.returncode, "handoff sessions" in done.stderr) == (1, True)


def test_sessions_are_listed_with_where_they_live(run: Run, stub: StubService, session: str) -> None:
    _hand_over(stub)
    done = run("sessions")
    assert "Flaky upload" in done.stdout
    assert LINK in done.stdout
    assert json.loads(run("sessions", "--json").stdout)[0]["id"] == session


def test_control_characters_in_a_title_do_not_reach_the_terminal(run: Run, stub: StubService) -> None:
    stub.state.put_session("evil", {"title": "a\x1b]0;owned\x07b\x1b[2J"})
    done = run("sessions")
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout


def test_history_shows_the_last_messages(run: Run, session: str) -> None:
    done = run("history", session, "--last", "1")
    assert "ho" in done.stdout
    assert "hi" not in done.stdout


def test_export_takes_all_pages_and_leaves_internal_messages_out(run: Run, stub: StubService, session: str) -> None:
    stub.state.script.page = 1
    _hand_over(stub)
    expected = [*MESSAGES, {"role": "assistant", "content": "I am here now."}]
    assert json.loads(run("export", session).stdout) == expected
    lines = run("export", session, "--format", "jsonl").stdout.splitlines()
    assert list(map(json.loads, lines)) == expected
    assert "## assistant\n\nho" in run("export", session, "--format", "markdown").stdout


def test_an_export_can_be_sent_again_and_arrives_equal(run: Run, session: str, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    assert run("export", session, "-o", str(path)).returncode == 0
    again = run("send", "telegram", "--transcript", str(path), "--json")
    assert json.loads(again.stdout)["receipt"]["digest"] == digest(MESSAGES)


def test_platforms_say_what_is_missing(run: Run) -> None:
    lines = run("platforms").stdout.splitlines()
    said = {line.split()[0]: line for line in lines}
    assert "home is 1001" in said["telegram"]
    assert "config home slack" in said["slack"]
    assert "not configured" in said["discord"]
    assert "not supported" in said["matrix"]


def test_doctor_shows_each_check_with_its_fix(run: Run, stub: StubService) -> None:
    stub.state.script.checks = [
        {"name": "bot", "platform": "telegram", "ok": True, "detail": "@handoff_bot is alive"},
        {"name": "webhook", "platform": "telegram", "ok": False, "detail": "not set", "fix": "run make webhook"},
    ]
    done = run("doctor")
    assert done.returncode == 1
    assert "✓ telegram bot: @handoff_bot is alive" in done.stdout
    assert "fix: run make webhook" in done.stdout
    assert "✓ clock" in done.stdout


def test_doctor_is_content_when_all_is_well(run: Run, stub: StubService) -> None:
    done = run("doctor", "--json")
    assert (done.returncode, json.loads(done.stdout)["ok"]) == (0, True)


def test_doctor_tells_a_service_that_is_away_from_a_wrong_token(run: Run) -> None:
    assert run("doctor", HANDOFF_URL="http://127.0.0.1:1").returncode == 4
    wrong = run("doctor", "--token", "nonsense")
    assert (wrong.returncode, "✗ token" in wrong.stdout) == (1, True)


def test_config_is_written_for_its_owner_only_and_read_again(run: Run, stub: StubService, tmp_path: Path) -> None:
    none = {"HANDOFF_URL": "", "HANDOFF_TOKEN": ""}
    assert run("config", "set", "url", stub.url, **none).returncode == 0
    assert run("config", "set", "token", stdin="stub-token\n", **none).returncode == 0
    path = tmp_path / "home" / ".config" / "handoff" / "config.toml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert run("platforms", **none).returncode == 0
    shown = run("config", "show", **none).stdout
    assert stub.url in shown
    assert "stub-token" not in shown
    assert run("config", "unset", "token", **none).returncode == 0
    assert run("platforms", **none).returncode == 1


@pytest.mark.parametrize("url", ["host", "ftp://host", "http://", "https://me@host"])
def test_config_keeps_no_url_that_cannot_be_one(run: Run, tmp_path: Path, url: str) -> None:
    assert run("config", "set", "url", url).returncode == 2
    assert not (tmp_path / "home" / ".config" / "handoff" / "config.toml").exists()


def test_chat_without_a_terminal_says_what_to_use_instead(run: Run) -> None:
    done = run("chat")
    assert (done.returncode, "handoff send" in done.stderr) == (2, True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_every_command(run: Run, shell: str) -> None:
    script = run("completion", shell).stdout
    for command in ("send", "status", "wait", "cancel", "resume", "sessions", "history", "export", "doctor"):
        assert command in script


def test_the_bash_completion_completes(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "handoff.bash"
    script.write_text(run("completion", "bash").stdout)
    line = 'COMP_WORDS=({words}); COMP_CWORD={at}; _handoff; echo "${{COMPREPLY[@]}}"'
    asked = [("handoff se", 1), ("handoff send --from c", 3), ("handoff send tel", 2), ("handoff config h", 2)]
    commands = "; ".join(line.format(words=words, at=at) for words, at in asked)
    done = subprocess.run(
        ["bash", "-c", f". '{script}'; {commands}"], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.splitlines() == ["send sessions", "claude-code codex", "telegram", "home"]
