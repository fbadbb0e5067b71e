"""`/handoff` typed inside an agent, and prompts to a session that is elsewhere."""

import json
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.commands import hook
from handoff_cli.inside import journey, whereabouts
from tests.cli.conftest import Run, User
from tests.cli.inside.conftest import CODEX_SAMPLE, Agent, refusal
from tests.support.fault_proxy import FaultProxy
from tests.support.servers import HANG, HttpServer, Response, json_response
from tests.support.waiting import eventually


def test_the_session_moves_and_the_link_is_shown(agent: Agent, user: User) -> None:
    shown = agent.move()
    assert "This session is in telegram" in shown
    [session] = user.sessions
    assert session["link"] in shown.splitlines()
    assert "Bring it back with: /handoff back" in shown
    assert session["owner"].startswith("telegram:")
    assert session["source"] == "claude-code"


def test_words_behind_the_platform_are_the_first_message(agent: Agent, user: User) -> None:
    agent.move("now write the tests")
    [session] = user.sessions
    messages = eventually(lambda: [str(m["content"]) for m in user.api.messages(session["id"])])
    assert any("now write the tests" in text for text in messages)


def test_a_sentence_that_begins_with_handoff_is_for_the_model(agent: Agent, user: User) -> None:
    agent.name = "codex"
    assert agent.prompt("handoff the keys to Anna") == {}
    agent.transcript = CODEX_SAMPLE
    shown = refusal(agent.prompt("handoff telegram now write the tests"))
    assert "telegram" in shown
    eventually(lambda: user.sessions and user.sessions[0]["owner"].startswith("telegram:"), within=60)


def test_the_note_is_private(agent: Agent) -> None:
    agent.move()
    [note] = agent.notes
    assert stat.S_IMODE(note.stat().st_mode) == 0o600


def test_prompts_wait_while_the_session_is_elsewhere(agent: Agent, user: User) -> None:
    agent.move()
    shown = refusal(agent.prompt("and the tests?"))
    assert "Nothing was sent" in shown
    assert user.sessions[0]["link"] in shown.splitlines()
    assert "/handoff back (clear the line first: Ctrl+U)" in shown


def test_the_session_is_not_compacted_while_it_is_elsewhere(agent: Agent, user: User) -> None:
    assert agent.hook(hook_event_name="PreCompact", trigger="manual") == {}
    agent.move()
    eventually(lambda: user.api.handoffs()[0]["done"])
    refused = agent.hook(hook_event_name="PreCompact", trigger="manual")
    assert (refused["decision"], user.sessions[0]["link"] in refused["reason"]) == ("block", True)
    assert "hookSpecificOutput" not in refused
    agent.prompt("/handoff back")
    assert agent.hook(hook_event_name="PreCompact", trigger="auto") == {}
    assert "additionalContext" in agent.prompt("and the tests?")["hookSpecificOutput"]


def test_codex_reads_another_refusal_of_a_compaction(agent: Agent) -> None:
    agent.name = "codex"
    _note(agent, "http://127.0.0.1:9")
    refused = agent.hook(hook_event_name="PreCompact", trigger="manual")
    assert set(refused) == {"continue", "stopReason"}
    assert (refused["continue"], "cannot be checked" in refused["stopReason"]) == (False, True)


def test_prompts_of_the_runner_pass(agent: Agent) -> None:
    agent.move()
    agent.variables["HANDOFF_HOST"] = "1"
    assert agent.prompt("said in the chat") == {}
    assert agent.start("resume") == {}


def test_prompts_of_other_sessions_pass(agent: Agent) -> None:
    agent.move()
    other = Agent(agent.run, agent.directory)
    assert other.prompt("and the tests?") == {}
    assert other.start("startup") == {}


def test_a_second_handoff_shows_where_the_session_is(agent: Agent, user: User) -> None:
    agent.move()
    assert user.sessions[0]["link"] in refusal(agent.prompt("/handoff telegram"))
    assert len(user.sessions) == 1


def test_back_behind_refused_words(agent: Agent, user: User) -> None:
    agent.move()
    shown = refusal(agent.prompt("and the tests?/handoff back"))
    assert "The session is here again" in shown
    assert user.sessions[0]["owner"] == "cli"


def test_the_model_is_told_once_what_it_missed(agent: Agent, user: User) -> None:
    agent.move()
    eventually(lambda: user.api.handoffs()[0]["done"])
    agent.prompt("/handoff back")
    told = agent.prompt("and the tests?")
    assert told["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert "Confirmed" in told["hookSpecificOutput"]["additionalContext"]
    assert agent.prompt("and the tests?") == {}
    assert agent.notes == []


def test_a_return_elsewhere_is_noticed(agent: Agent, user: User, run: Run) -> None:
    agent.move()
    eventually(lambda: user.api.handoffs()[0]["done"])
    assert run("resume", user.sessions[0]["id"]).returncode == 0
    told = agent.start("resume")
    assert told["systemMessage"] == "The session is here again."
    assert "Confirmed" in told["hookSpecificOutput"]["additionalContext"]
    assert agent.prompt("and the tests?") == {}


def test_loading_a_session_that_is_elsewhere_says_so(agent: Agent, user: User) -> None:
    agent.move()
    told = agent.start("resume")
    assert user.sessions[0]["link"] in told["systemMessage"]
    assert "Nothing was sent" in refusal(agent.prompt("hello"))


def test_status(agent: Agent, user: User) -> None:
    assert refusal(agent.prompt("/handoff status")) == "This session is here."
    agent.move()
    assert user.sessions[0]["link"] in refusal(agent.prompt("/handoff status"))
    agent.prompt("/handoff back")
    assert "here" in refusal(agent.prompt("/handoff status"))


def test_a_failed_move_leaves_the_session_here(agent: Agent, user: User) -> None:
    shown = agent.types("/handoff pigeon")
    assert "There is no platform “pigeon”" in shown
    assert "It is still here." in shown
    assert agent.prompt("and the tests?") == {}
    assert agent.notes == []


def test_no_home(agent: Agent, user: User) -> None:
    assert "You have no home chat on slack yet" in agent.types("/handoff slack")


def test_no_service(agent_alone: Agent) -> None:
    shown = refusal(agent_alone.prompt("/handoff telegram"))
    assert "No service is configured" in shown
    assert agent_alone.prompt("and the tests?") == {}


def test_an_unreadable_session(agent: Agent) -> None:
    assert agent.transcript
    agent.transcript.write_text("{}\n")
    assert "is not a conversation of Claude Code" in refusal(agent.prompt("/handoff telegram"))


def test_the_service_is_down_while_the_session_is_elsewhere(agent: Agent) -> None:
    agent.move()
    [note] = agent.notes
    state = json.loads(note.read_text())
    note.write_text(json.dumps({**state, "url": "http://127.0.0.1:9"}))
    shown = refusal(agent.prompt("and the tests?"))
    assert "it cannot be checked whether it is still there" in shown
    assert str(note) in shown
    assert "Cannot reach the service" in refusal(agent.prompt("/handoff back"))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks that wait a third of a second instead of seven."""
    monkeypatch.setattr(journey, "_WAIT_SECONDS", 0.3)
    monkeypatch.setattr(whereabouts, "_READ_SECONDS", 0.3)


def test_a_hook_gives_up_before_it_is_late() -> None:
    assert max(journey._WAIT_SECONDS, whereabouts._READ_SECONDS) < hook._SECONDS < 10


@pytest.mark.usefixtures("impatient")
def test_a_service_that_hangs_does_not_hang_the_agent(agent_alone: Agent) -> None:
    with HttpServer(HANG) as server:
        agent_alone.variables |= {"HANDOFF_URL": server.url, "HANDOFF_TOKEN": "t"}
        began = time.monotonic()
        assert "on its way" in refusal(agent_alone.prompt("/handoff telegram"))
        assert time.monotonic() - began < 5


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("prompt", ["/handoff back", "/handoff status", "/handoff slack", "and the tests?"])
def test_nor_does_it_while_the_session_is_elsewhere(agent_alone: Agent, prompt: str) -> None:
    with HttpServer(HANG) as server:
        note = _note(agent_alone, server.url)
        before = note.read_bytes()
        agent_alone.variables |= {"HANDOFF_TOKEN": "t"}
        began = time.monotonic()
        refusal(agent_alone.prompt(prompt))
        assert time.monotonic() - began < 5
    assert note.read_bytes() == before


@pytest.mark.parametrize(
    ("status", "sentence"),
    [(401, "token"), (500, "HTTP 500"), (503, "later")],
)
def test_a_service_that_refuses_is_one_line(agent_alone: Agent, status: int, sentence: str) -> None:
    problem = {"code": "unauthenticated" if status == 401 else "internal", "detail": f"HTTP {status}: token, later"}
    at_once = {"content-type": "application/json", "retry-after": "0"}
    with HttpServer(Response(status, json.dumps(problem).encode(), at_once)) as server:
        agent_alone.variables |= {"HANDOFF_URL": server.url, "HANDOFF_TOKEN": "t"}
        began = time.monotonic()
        shown = refusal(agent_alone.prompt("/handoff telegram"))
        assert time.monotonic() - began < 10
        first, *rest = agent_alone.follow(shown).splitlines()
    assert sentence in first
    assert (first.startswith("The session was not moved."), rest) == (True, ["It is still here."])
    assert agent_alone.prompt("and the tests?") == {}


def test_a_missing_token_is_one_line(agent_alone: Agent) -> None:
    with HttpServer(json_response({"code": "unauthenticated", "detail": "no"}, 401)) as server:
        agent_alone.variables |= {"HANDOFF_URL": server.url}
        first, *rest = agent_alone.types("/handoff telegram").splitlines()
    assert ("needs a token" in first, rest) == (True, ["It is still here."])
    assert agent_alone.notes == []


def _session(owner: str, **more: Any) -> dict[str, Any]:
    about = {
        "id": "s1",
        "owner": owner,
        "epoch": 2,
        "message_count": 9,
        "active_handoff": None,
        "link": "https://t.me/1",
    }
    return {**about, **more}


def _note(agent: Agent, url: str, **more: Any) -> Path:
    path = agent.directory / "home/.local/state/handoff/away" / agent.name / f"{agent.native_id}.json"
    path.parent.mkdir(parents=True)
    state = {"phase": "away", "session_id": "s1", "url": url, "platform": "telegram", "sent": 4, **more}
    path.write_text(json.dumps(state))
    return path


RUNS_ON = {"runner": "r1", "agent": "claude-code", "native_id": "n1"}


def test_a_window_that_stayed_open_must_load_what_the_agent_said_in_the_chat(agent_alone: Agent) -> None:
    messages = {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "by the cloud"}]}
    here = _session("cli", runs_on=RUNS_ON, native_seen=7)

    def respond(request: Any) -> Response:
        if request.path.endswith("/messages"):
            assert request.query["after"] == "7"
            return json_response(messages)
        return json_response(here if request.method == "POST" else _session("telegram:1:2", runs_on=RUNS_ON))

    with HttpServer(respond) as server:
        note = _note(agent_alone, server.url)
        agent_alone.variables |= {"HANDOFF_TOKEN": "t"}
        command = f"/resume {agent_alone.native_id}"
        assert command in refusal(agent_alone.prompt("/handoff back"))
        asked = len(server.requests)
        assert command in refusal(agent_alone.prompt("and the tests?"))
        assert command in refusal(agent_alone.prompt("/handoff back"))
        assert agent_alone.start("startup") == {}
        assert command in refusal(agent_alone.prompt("and the tests?"))
        told = agent_alone.start("resume")
        assert len(server.requests) == asked  # it is known already
    assert "by the cloud" in told["hookSpecificOutput"]["additionalContext"]
    assert not note.exists()
    assert agent_alone.prompt("and the tests?") == {}


@pytest.mark.parametrize(("since", "must_load"), [("5", False), ("6", True)])
def test_a_codex_that_was_opened_since_has_loaded_all(agent_alone: Agent, since: str, *, must_load: bool) -> None:
    agent_alone.name = "codex"
    versions = iter(["5", since])

    def respond(request: Any) -> Response:
        if request.path.endswith("/messages"):
            return json_response({"messages": []})
        if request.method == "POST":
            return json_response(_session("cli", runs_on=RUNS_ON, native_seen=9))
        return json_response(_session("telegram:1:2", runs_on=RUNS_ON, version=next(versions)))

    with HttpServer(respond) as server:
        _note(agent_alone, server.url)
        agent_alone.variables |= {"HANDOFF_TOKEN": "t"}
        assert "https://t.me/1" in agent_alone.start("resume")["systemMessage"]
        assert ("codex resume" in refusal(agent_alone.prompt("handoff back"))) is must_load
        assert ("decision" in agent_alone.prompt("and the tests?")) is must_load


def test_opencode_need_not_load_what_it_reads_anyway(agent_alone: Agent) -> None:
    agent_alone.name = "opencode"
    _note(agent_alone, "http://127.0.0.1:9", phase="back", reload=True, context="Told elsewhere.")
    assert "Close opencode" not in refusal(agent_alone.prompt("/handoff back"))
    assert agent_alone.prompt("and the tests?")["hookSpecificOutput"]["additionalContext"] == "Told elsewhere."
    assert agent_alone.notes == []


def test_a_session_handed_over_from_another_window_is_found(agent_alone: Agent) -> None:
    runs_on = {**RUNS_ON, "native_id": agent_alone.native_id}

    def respond(request: Any) -> Response:
        if request.method == "POST":
            return json_response(_session("cli", runs_on=runs_on))
        if request.path.endswith("/messages"):
            return json_response({"messages": []})
        return json_response({"sessions": [_session("telegram:1:2", runs_on=runs_on)]})

    with HttpServer(respond) as server:
        agent_alone.variables |= {"HANDOFF_URL": server.url, "HANDOFF_TOKEN": "t"}
        assert f"/resume {agent_alone.native_id}" in refusal(agent_alone.prompt("/handoff back"))


def test_a_move_that_died_before_it_stored_anything(agent_alone: Agent) -> None:
    with HttpServer(json_response({"code": "unknown_session", "detail": "no"}, 404)) as server:
        _note(agent_alone, server.url, phase="moving", pid=2**22 - 1, began=time.time())
        assert agent_alone.prompt("and the tests?") == {}
    assert agent_alone.notes == []


def test_a_session_deleted_elsewhere_must_be_loaded(agent_alone: Agent) -> None:
    with HttpServer(json_response({"code": "unknown_session", "detail": "no"}, 404)) as server:
        _note(agent_alone, server.url)
        assert "/resume" in refusal(agent_alone.prompt("and the tests?"))


def test_a_damaged_note_is_not_taken_for_a_free_session(agent_alone: Agent) -> None:
    path = _note(agent_alone, "http://127.0.0.1:9")
    path.write_text("{")
    assert str(path) in refusal(agent_alone.prompt("and the tests?"))


@pytest.mark.parametrize(
    "garbage", ["", "[]", "{}", '{"session_id": "../../x", "prompt": "/handoff telegram"}', "\x00"]
)
def test_garbage_is_ignored(garbage: str, run_alone: Run) -> None:
    done = run_alone("hook", "claude-code", stdin=garbage)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_gemini_reads_a_refusal_by_another_name(agent: Agent) -> None:
    agent.name = "gemini"
    answer = agent.prompt("handoff status")
    assert answer == {"decision": "deny", "reason": "This session is here."}


def test_an_interrupted_connection_is_one_line(agent: Agent, proxy: FaultProxy) -> None:
    proxy.stop()
    shown = refusal(agent.prompt("/handoff telegram"))
    assert "Cannot reach the service" in shown
    assert agent.prompt("and the tests?") == {}


def test_a_session_that_a_command_handed_over_is_guarded(agent: Agent, user: User, run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    assert agent.transcript
    agent.transcript.rename(folder / f"{agent.native_id}.jsonl")
    assert run("send", "telegram", "--from", f"claude-code:{agent.native_id}").returncode == 0
    assert user.sessions[0]["link"] in refusal(agent.prompt("and the tests?"))
    assert "The session is here again" in refusal(agent.prompt("/handoff back"))
