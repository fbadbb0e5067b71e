"""What Handoff relies on to make the real opencode ask, for the pinned version."""

import json
import os
import subprocess
from typing import Any

import pytest

from handoff_cli.runner.agents import OPENCODE
from handoff_cli.runner.agents.find import find_agent
from tests.support.acp_client import AcpClient
from tests.support.api_user import ApiUser
from tests.support.fake_opencode import configuration
from tests.support.real_agents import AUTOMATIC, PROGRAMS, Home, begin_in_terminal
from tests.support.real_runner import HANDOFF, PLATFORM, Thread, runner

pytestmark = pytest.mark.agents

AGENT = {"build": {"permission": {"bash": "allow"}}}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "everything": {"permission": "allow"},
    "everything first": {"permission": {"*": "allow", "bash": "allow"}},
    "a pattern": {"permission": {"bash": {"*": "ask", "echo *": "allow"}}},
    "an agent": {"agent": AGENT},
    "tools": {"tools": {"bash": True}, "agent": {"build": {"tools": {"bash": True}}}},
    "all of it": {"permission": {"*": "allow", "bash": {"*": "allow", "rm *": "deny"}}, "agent": AGENT},
}


def _run(client: AcpClient, home: Home, native_id: str, command: str) -> None:
    client.call("session/resume", sessionId=native_id, cwd=str(home.project), mcpServers=[])
    prompt = [{"type": "text", "text": f"run: {command}"}]
    client.call("session/prompt", sessionId=native_id, prompt=prompt)


@pytest.mark.parametrize("allows", CONFIGURATIONS)
def test_opencode_asks_whatever_its_configuration_allows(home: Home, allows: str) -> None:
    home.configure_opencode(**CONFIGURATIONS[allows])
    begun = begin_in_terminal(home, "opencode", "hello", *AUTOMATIC["opencode"])
    environ = find_agent(OPENCODE, home.environ).environ_in(home.project)

    with home.acp("opencode", permit="reject_once", **environ) as client:
        _run(client, home, begun.native_id, "echo no > answer.txt")
    [asked] = client.asked
    assert asked["toolCall"]["rawInput"]["command"] == "echo no > answer.txt"
    assert not (home.project / "answer.txt").exists()


def test_what_the_user_denies_stays_denied(home: Home) -> None:
    home.configure_opencode(**CONFIGURATIONS["all of it"] | {"agent": {}})
    begun = begin_in_terminal(home, "opencode", "hello")
    (home.project / "kept.txt").touch()
    environ = find_agent(OPENCODE, home.environ).environ_in(home.project)

    with home.acp("opencode", permit="allow_once", **environ) as client:
        _run(client, home, begun.native_id, "rm kept.txt")
    assert client.asked == []
    assert (home.project / "kept.txt").exists()


def test_it_would_not_ask_by_itself(home: Home) -> None:
    begun = begin_in_terminal(home, "opencode", "hello")
    with home.acp("opencode") as client:
        _run(client, home, begun.native_id, "echo yes > answer.txt")
    assert client.asked == []
    assert (home.project / "answer.txt").exists()


@pytest.mark.parametrize("allows", ["nothing", "everything", "everything first", "a pattern", "all of it"])
def test_the_fake_merges_configurations_as_opencode_does(
    home: Home, allows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.configure_opencode(**CONFIGURATIONS[allows])
    (home.project / "opencode.json").write_text(json.dumps({"permission": {"edit": "deny", "bash": {"ls": "allow"}}}))
    content = {"permission": {"webfetch": "ask"}, "agent": {"build": {"permission": {"bash": "ask"}}}}
    given = {"OPENCODE_PERMISSION": '{"*": "ask", "edit": "ask"}', "OPENCODE_CONFIG_CONTENT": json.dumps(content)}
    program = [str(PROGRAMS / "opencode"), "debug", "config"]
    shown = subprocess.run(program, env={**home.environ, **given}, cwd=home.project, capture_output=True, check=True)

    monkeypatch.chdir(home.project)
    for name, value in {**given, "HOME": str(home.path)}.items():
        monkeypatch.setitem(os.environ, name, value)
    real, fake = json.loads(shown.stdout), configuration()
    assert json.dumps(real["permission"]) == json.dumps(fake["permission"]), "in the same order"
    assert real["agent"]["build"]["permission"] == fake["agent"]["build"]["permission"]


def test_opencode_asks_in_the_thread(laptop: Home, user: ApiUser) -> None:
    laptop.configure_opencode(**CONFIGURATIONS["everything first"])
    begun = begin_in_terminal(laptop, "opencode", "my number is 4711", *AUTOMATIC["opencode"])
    thread = Thread(user, "opencode asks")
    with runner(laptop, user):
        source = f"opencode:{begun.native_id}"
        laptop.run(*HANDOFF, "send", PLATFORM, "--from", source, "--title", thread.title, "--json")
        thread.shows("my number is 4711")
        thread.say("run: echo from the chat > answer.txt")
        thread.press("Allow once")
        thread.shows("The tool said")
    assert (laptop.project / "answer.txt").read_text() == "from the chat\n"
