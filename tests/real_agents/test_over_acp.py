"""What Handoff relies on when it drives the real agents over ACP, for the pinned versions."""

from pathlib import Path

import pytest

from handoff_cli.readers.read import read_session
from handoff_cli.readers.source import Source
from tests.support.acp_client import AcpClient, Json
from tests.support.fake_model.script import TOKENS, Hold, decide
from tests.support.fake_model.server import FakeModel
from tests.support.real_agents import AUTOMATIC, NAMES, Home, begin_in_terminal, resume_in_terminal
from tests.support.waiting import eventually

pytestmark = [pytest.mark.agents, pytest.mark.parametrize("agent", NAMES)]

# The mode in which an agent asks the person before it changes anything.
ASKING = {"claude-code": "default", "codex": "read-only"}
# How the turn ends after a "no": Claude Code answers, Codex stops.
AFTER_NO = {"claude-code": "end_turn", "codex": "cancelled"}


def _resume(client: AcpClient, home: Home, agent: str, native_id: str) -> Json:
    """Go on with the session in its asking mode, as the runner does."""
    found = client.call("session/resume", sessionId=native_id, cwd=str(home.project), mcpServers=[])
    client.call("session/set_mode", sessionId=native_id, modeId=ASKING[agent])
    return found


def _prompt(client: AcpClient, native_id: str, words: str) -> str:
    prompt = [{"type": "text", "text": words}]
    return str(client.call("session/prompt", sessionId=native_id, prompt=prompt)["stopReason"])


def test_a_session_goes_on_under_its_own_id(agent: str, home: Home, model: FakeModel) -> None:
    begun = begin_in_terminal(home, agent, "my number is 4711")
    with home.acp(agent) as client:
        _resume(client, home, agent, begun.native_id)
        assert _prompt(client, begun.native_id, "my colour is blue") == "end_turn"
        assert "my colour is blue" in client.reply
    assert "my number is 4711" in model.asked("my colour is blue").heard

    after = resume_in_terminal(home, agent, begun.native_id, "and now?")

    assert after.native_id == begun.native_id
    assert [words.strip() for words in model.calls[-1].said] == ["my number is 4711", "my colour is blue", "and now?"]


def test_a_permission_is_asked_although_the_session_was_automatic(agent: str, home: Home, model: FakeModel) -> None:
    begun = begin_in_terminal(home, agent, "hello", *AUTOMATIC[agent])
    with home.acp(agent, permit="allow_once") as client:
        found = _resume(client, home, agent, begun.native_id)
        assert found["modes"]["currentModeId"] != ASKING[agent]
        assert _prompt(client, begun.native_id, "run!: echo yes > answer.txt") == "end_turn"

    [asked] = client.asked
    assert asked["toolCall"]["title"] == "echo yes > answer.txt"
    assert {"allow_once", "reject_once"} <= {option["kind"] for option in asked["options"]}
    assert (home.project / "answer.txt").read_text() == "yes\n"
    assert "The tool said" in client.reply


def test_a_refused_command_is_not_run(agent: str, home: Home) -> None:
    begun = begin_in_terminal(home, agent, "hello")
    with home.acp(agent, permit="reject_once") as client:
        _resume(client, home, agent, begun.native_id)
        assert _prompt(client, begun.native_id, "run!: echo no > answer.txt") == AFTER_NO[agent]
    assert len(client.asked) == 1
    assert not (home.project / "answer.txt").exists()


def test_cancelling_ends_the_turn_and_keeps_the_session(agent: str, home: Home, model: FakeModel) -> None:
    """Its answer has the tokens of what the model had answered until then."""
    begun = begin_in_terminal(home, agent, "my number is 4711")
    model.decide = lambda call: Hold("One moment.") if call.items[-1].role == "tool" else decide(call)
    with home.acp(agent, permit="allow_once") as client:
        _resume(client, home, agent, begun.native_id)
        turn = client.send("session/prompt", sessionId=begun.native_id, prompt=[{"type": "text", "text": "run: pwd"}])
        eventually(lambda: "One moment" in client.reply, show=lambda: client.updates)
        client.notify("session/cancel", sessionId=begun.native_id)
        answer = turn.result(20)
        assert answer["stopReason"] == "cancelled"
        assert answer["usage"]["totalTokens"] >= TOKENS
        assert _prompt(client, begun.native_id, "go on") == "end_turn"
    assert "my number is 4711" in model.asked("go on").heard


def test_the_reader_understands_what_this_version_writes(agent: str, home: Home) -> None:
    begun = begin_in_terminal(home, agent, "my number is 4711")
    with home.acp(agent, permit="allow_once") as client:
        _resume(client, home, agent, begun.native_id)
        _prompt(client, begun.native_id, "run!: echo yes")
    resume_in_terminal(home, agent, begun.native_id, "and now?")

    read = read_session(agent, Source(home.project, home.environ, session=begun.native_id))

    roles = [message["role"] for message in read.messages]
    assert roles == ["user", "assistant", "user", "assistant", "tool", "assistant", "user", "assistant"]
    said = [message["content"].strip() for message in read.messages if message["role"] == "user"]
    assert said == ["my number is 4711", "run!: echo yes", "and now?"]
    call, output = read.messages[3], read.messages[4]
    assert "echo yes" in call["tool_calls"][0]["function"]["arguments"]
    assert output["tool_call_id"] == call["tool_calls"][0]["id"]
    assert "yes" in output["content"]
    assert Path(read.cwd or "") == home.project
