"""`handoff mcp`: the tools for agents without hooks."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, User
from tests.cli.inside.conftest import SAMPLE
from tests.support.waiting import eventually

CONVERSATION = [{"role": "user", "content": "my number is 4711"}, {"role": "assistant", "content": "noted"}]
HELLO = {"method": "initialize", "params": {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {}}}


def _talk(run: Run, *messages: dict[str, Any], options: tuple[str, ...] = (), **more: Any) -> list[Any]:
    """The answers to these requests, in one run of the server."""
    lines = [json.dumps({"jsonrpc": "2.0", "id": number, **each}) for number, each in enumerate(messages)]
    done = run("mcp", *options, stdin="\n".join(lines) + "\n", **more)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def _tool(name: str, **arguments: Any) -> dict[str, Any]:
    return {"method": "tools/call", "params": {"name": name, "arguments": arguments}}


def _text(answer: Any) -> str:
    return str(answer["result"]["content"][0]["text"])


def test_a_client_is_greeted_in_its_version(run_alone: Run) -> None:
    [hello, future, listed, prompts] = _talk(
        run_alone,
        HELLO,
        {"method": "initialize", "params": {"protocolVersion": "2099-01-01"}},
        {"method": "tools/list"},
        {"method": "prompts/list"},
    )
    assert hello["result"]["protocolVersion"] == "2025-03-26"
    assert hello["result"]["serverInfo"]["name"] == "handoff"
    assert future["result"]["protocolVersion"] == "2025-11-25"
    assert [tool["name"] for tool in listed["result"]["tools"]] == ["handoff", "handoff_status", "handoff_back"]
    assert listed["result"]["tools"][0]["inputSchema"]["required"] == ["platform", "conversation"]
    assert [prompt["name"] for prompt in prompts["result"]["prompts"]] == ["handoff"]


def test_the_prompt_names_the_platform(run_alone: Run) -> None:
    [got] = _talk(
        run_alone, {"method": "prompts/get", "params": {"name": "handoff", "arguments": {"platform": "slack"}}}
    )
    assert "to slack with the tool `handoff`" in got["result"]["messages"][0]["content"]["text"]


def test_a_conversation_goes_there_and_back(run: Run, user: User) -> None:
    move = _tool("handoff", platform="Telegram", title="Numbers", conversation=CONVERSATION)
    [moved] = _talk(run, move)
    [session] = user.sessions
    assert session["link"] in _text(moved).splitlines()
    assert (session["title"], session["source"]) == ("Numbers", "mcp")
    assert list(user.api.messages(session["id"]))[:2] == CONVERSATION
    eventually(lambda: user.api.handoffs()[0]["done"])

    [status, back, again] = _talk(run, _tool("handoff_status"), _tool("handoff_back"), _tool("handoff_status"))
    assert session["link"] in _text(status)
    assert "Confirmed" in _text(back)
    assert _text(again) == "The conversation is here."
    assert user.sessions[0]["owner"] == "cli"


def test_the_session_of_a_known_agent_is_read(run: Run, user: User, tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".claude" / "projects" / str(tmp_path).replace("/", "-").replace("_", "-")
    folder.mkdir(parents=True)
    shutil.copy(SAMPLE, folder / "s1.jsonl")
    options = ("--agent", "claude-code")
    [listed, moved] = _talk(run, {"method": "tools/list"}, _tool("handoff", platform="telegram"), options=options)
    assert listed["result"]["tools"][0]["inputSchema"]["required"] == ["platform"]
    assert "isError" not in moved["result"]
    assert [session["source"] for session in user.sessions] == ["claude-code"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "platform is missing"),
        ({"platform": "telegram"}, "conversation is missing"),
        ({"platform": "telegram", "conversation": ["x", {"role": "system", "content": "x"}]}, "conversation"),
        ({"platform": "pigeon", "conversation": CONVERSATION}, "There is no platform “pigeon”"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(run: Run, user: User, arguments: dict[str, Any], problem: str) -> None:
    [answer] = _talk(run, _tool("handoff", **arguments))
    assert answer["result"]["isError"]
    assert problem in _text(answer)
    assert user.sessions == []


def test_no_service_is_one_sentence(run_alone: Run) -> None:
    [answer] = _talk(run_alone, _tool("handoff_status"))
    assert (answer["result"]["isError"], "No service is configured" in _text(answer)) == (True, True)


def test_what_is_not_understood_is_answered_with_an_error(run_alone: Run) -> None:
    lines = [
        "{",
        "[]",
        '{"jsonrpc": "2.0", "id": 1, "method": "resources/list"}',
        '{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "rm"}}',
        '{"jsonrpc": "2.0", "id": 3, "method": "prompts/get", "params": {"name": "rm"}}',
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "id": 9, "result": {}}',
        "",
        '{"jsonrpc": "2.0", "id": "last", "method": "ping"}',
    ]
    answers = [json.loads(line) for line in run_alone("mcp", stdin="\n".join(lines)).stdout.splitlines()]
    assert [answer.get("error", {}).get("code") for answer in answers] == [-32700, -32600, -32601, -32602, -32602, None]
    assert answers[-1] == {"jsonrpc": "2.0", "id": "last", "result": {}}
