"""The table of agents: what is missing or too old is told with the command that mends it."""

import json
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.errors import UsageProblem
from handoff_cli.runner import AGENTS
from handoff_cli.runner.agents import CLAUDE_CODE, CODEX, GEMINI, HERMES, OPENCODE, TABLE, agent_named
from handoff_cli.runner.agents.find import AgentUnusable, NotInstalled, find_agent, parse_version, usable_agents
from handoff_cli.runner.agents.spec import AgentSpec
from handoff_cli.runner.settings import Settings

FAKE_OPENCODE = Path(__file__).parents[2] / "support" / "fake_opencode.py"


class Machine:
    """A folder of programs, which is all of PATH."""

    def __init__(self, root: Path) -> None:
        self.bin = root / "bin"
        self.bin.mkdir()
        self.environ = {"PATH": str(self.bin), "HOME": str(root), "HANDOFF_TOKEN": "secret"}

    def program(self, name: str, version: str) -> Path:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\necho '{version}'\n")
        path.chmod(0o755)
        return path

    def opencode(self) -> Path:
        path = self.bin / "opencode"
        path.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE_OPENCODE} "$@"\n')
        path.chmod(0o755)
        return path

    def package(self, name: str, command: str, version: str) -> Path:
        folder = self.bin.parent / "node_modules" / name
        (folder / "dist").mkdir(parents=True)
        (folder / "package.json").write_text(json.dumps({"name": name, "version": version}))
        (folder / "dist" / "package.json").write_text(json.dumps({"type": "module"}))
        script = folder / "dist" / "index.js"
        script.write_text("#!/usr/bin/env node\n")
        script.chmod(0o755)
        (self.bin / command).symlink_to(script)
        return script


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def _with_claude(machine: Machine, *, node: str = "v24.1.0", adapter: str = "0.99.1", claude: str = "2.1.325") -> Path:
    machine.program("claude", f"{claude} (Claude Code)")
    machine.program("node", node)
    return machine.package("@agentclientprotocol/claude-agent-acp", "claude-agent-acp", adapter)


def test_the_adapter_drives_the_users_own_program(machine: Machine) -> None:
    script = _with_claude(machine)
    agent = find_agent(CLAUDE_CODE, machine.environ)
    assert agent.command == (str(machine.bin / "node"), str(script))
    assert agent.environ["CLAUDE_CODE_EXECUTABLE"] == str(machine.bin / "claude")
    assert agent.environ["DISABLE_AUTOUPDATER"] == "1"
    assert agent.version == "2.1.325"


def test_the_agent_never_gets_a_token_of_a_service(machine: Machine) -> None:
    _with_claude(machine)
    given = {"HANDOFF_OTHER_TOKEN": "secret", "HANDOFF_WORK_2_TOKEN": "secret", "HANDOFFTOKEN": "theirs"}
    environ = find_agent(CLAUDE_CODE, {**machine.environ, **given}).environ
    assert "secret" not in environ.values()
    assert (environ["HANDOFF_HOST"], environ["HANDOFFTOKEN"]) == ("1", "theirs")


def test_what_the_user_has_set_is_kept(machine: Machine) -> None:
    _with_claude(machine)
    environ = find_agent(CLAUDE_CODE, {**machine.environ, "DISABLE_TELEMETRY": "0"}).environ
    assert environ["DISABLE_TELEMETRY"] == "0"


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({"node": "v20.20.2"}, "needs node 22 or newer; yours is 20.20.2. Run: npm install -g node@24"),
        ({"claude": "1.0.9"}, "Claude Code 1.0.9 is too old; it needs 2.1 or newer. Run: claude update"),
        (
            {"adapter": "0.16.0"},
            "claude-agent-acp 0.16.0 is too old. Run: npm install -g @agentclientprotocol/claude-agent-acp@0.99.1",
        ),
        ({"claude": "what?"}, "does not tell its version"),
    ],
)
def test_what_is_too_old_is_told_with_its_remedy(machine: Machine, versions: dict[str, str], said: str) -> None:
    _with_claude(machine, **versions)
    with pytest.raises(AgentUnusable) as problem:
        find_agent(CLAUDE_CODE, machine.environ)
    assert said in str(problem.value)


def test_a_missing_program_node_or_adapter_is_told(machine: Machine) -> None:
    with pytest.raises(NotInstalled, match="npm install -g @anthropic-ai/claude-code"):
        find_agent(CLAUDE_CODE, machine.environ)
    machine.program("claude", "2.1.325")
    with pytest.raises(AgentUnusable, match="node 22 or newer, which is not installed"):
        find_agent(CLAUDE_CODE, machine.environ)
    machine.program("node", "v22.0.0")
    with pytest.raises(AgentUnusable, match=r"Run: npm install -g .*claude-agent-acp@0\.99\.1"):
        find_agent(CLAUDE_CODE, machine.environ)


def test_an_adapter_of_another_make_is_refused(machine: Machine) -> None:
    machine.program("codex", "codex-cli 0.166.0")
    machine.program("node", "v24.1.0")
    machine.package("@zed-industries/codex-acp", "codex-acp", "9.0.0")
    with pytest.raises(AgentUnusable, match="is @zed-industries/codex-acp, not @agentclientprotocol/codex-acp"):
        find_agent(CODEX, machine.environ)


def test_agents_that_speak_acp_need_no_adapter(machine: Machine) -> None:
    machine.opencode()
    machine.program("gemini", "0.61.0")
    assert find_agent(OPENCODE, machine.environ).command == (str(machine.bin / "opencode"), "acp")
    assert find_agent(GEMINI, machine.environ).command == (str(machine.bin / "gemini"), "--acp")


@pytest.mark.parametrize("spec", TABLE.values(), ids=TABLE)
def test_every_agent_asks_is_made_to_ask_or_says_why_it_is_not_used(spec: AgentSpec) -> None:
    ways = [bool(spec.asking_modes), spec.forcing is not None, bool(spec.unsupported)]
    assert ways.count(True) == 1


def test_an_agent_that_asks_is_never_unattended(machine: Machine) -> None:
    _with_claude(machine)
    assert not find_agent(CLAUDE_CODE, machine.environ, unattended=True).unattended


@pytest.mark.parametrize(
    ("environ", "command", "why"),
    [
        ({"VERSION": "1.19.0"}, (), "only of opencode 1.18 it is tested that it asks before each step"),
        ({"VERSION": "2.0.1"}, (), "only of opencode 1.18 it is tested"),
        (
            {"MANAGED": '{"permission": {"bash": "allow"}}', "OPENCODE_PERMISSION": '{"*": "ask", "bash": "ask"}'},
            (),
            "does not make it ask for bash",
        ),
        ({"MANAGED": '{"permission": "allow"}'}, (), "does not make it ask for everything"),
        ({"MANAGED": '{"permission": 7}'}, (), "does not make it ask for everything"),
        (
            {"MANAGED": '{"agent": {"a": {"permission": {"edit": {"src/*": "allow"}}}}}'},
            (),
            "does not make it ask for edit",
        ),
        ({"MANAGED": '{"agent": {"a": {"permission": {"edit": ["?"]}}}}'}, (), "does not make it ask for edit"),
        ({"MANAGED": "no JSON"}, (), "does not tell its configuration"),
        ({}, ("my-opencode", "acp"), "nothing is known of how it asks"),
    ],
)
def test_opencode_that_cannot_be_made_to_ask_needs_the_users_consent(
    machine: Machine, environ: dict[str, str], command: tuple[str, ...], why: str
) -> None:
    machine.opencode()
    environ = {**machine.environ, **environ}
    with pytest.raises(AgentUnusable, match=why) as refused:
        find_agent(OPENCODE, environ, command)
    assert "[agents.opencode] and below it: unattended = true" in str(refused.value)
    assert find_agent(OPENCODE, environ, command, unattended=True).unattended


@pytest.mark.parametrize("where", ["home", "project", "content", "permission"])
@pytest.mark.parametrize(
    ("permission", "denied"),
    [
        ({}, []),
        ({"*": "allow"}, []),
        ({"*": "allow", "bash": "allow", "edit": {"*": "allow", "notes/*": "ask"}}, []),
        ({"bash": {"*": "allow", "rm *": "deny"}, "read": "deny"}, [("bash*", "rm *"), ("read*", "*")]),
        ({"mine_*": "allow", "webfetch": "deny", "*": "allow"}, [("webfetch*", "*")]),
    ],
)
def test_opencode_asks_whatever_its_configuration_allows(
    machine: Machine, tmp_path: Path, permission: dict[str, Any], denied: list[tuple[str, str]], where: str
) -> None:
    program = machine.opencode()
    config = {"permission": permission, "agent": {"build": {"permission": {"webfetch": "allow", "task": "deny"}}}}
    files = {"home": tmp_path / ".config" / "opencode", "project": tmp_path / "project"}
    for folder in files.values():
        folder.mkdir(parents=True)
    if where in files:
        (files[where] / "opencode.json").write_text(json.dumps(config))
    elif where == "content":
        machine.environ["OPENCODE_CONFIG_CONTENT"] = json.dumps(config)
    else:
        machine.environ["OPENCODE_PERMISSION"] = json.dumps(permission)

    environ = find_agent(OPENCODE, machine.environ).environ_in(files["project"])

    shown = subprocess.run(
        [program, "debug", "config"], env=environ, cwd=files["project"], capture_output=True, check=True
    )
    found = json.loads(shown.stdout)
    for name, pattern in [("bash", "make"), ("edit", "a.py"), ("mine_tool", "*"), ("task", "*"), ("webfetch", "*")]:
        assert _done(found, name, pattern) in {"ask", "deny"}
    for name, pattern in denied:
        assert _done(found, name.removesuffix("*"), pattern.replace("*", "x")) == "deny"
    assert _done(found, "bash", "make") == "ask"
    if where != "permission":
        assert found["agent"]["build"]["permission"] == {"webfetch": "ask", "task": "deny"}


def _done(found: dict[str, Any], name: str, pattern: str) -> str:
    """What opencode does: the last rule that matches."""
    permission: dict[str, Any] = found["permission"]
    rules = [
        (one, each, action)
        for one, value in permission.items()
        for each, action in (value.items() if isinstance(value, dict) else [("*", value)])
    ]
    return str([action for one, each, action in rules if fnmatchcase(name, one) and fnmatchcase(pattern, each)][-1])


def test_hermes_is_said_to_be_unable(machine: Machine) -> None:
    machine.program("hermes", "0.19.0")
    with pytest.raises(AgentUnusable, match="cannot answer in a thread"):
        find_agent(HERMES, machine.environ)


def test_any_program_that_speaks_acp_can_be_named(machine: Machine) -> None:
    program = machine.program("goose", "no version")
    spec = agent_named("acp:goose serve --stdio")
    with pytest.raises(AgentUnusable, match=r"runner\.toml: \[agents\.acp\] and below it: unattended = true"):
        find_agent(spec, machine.environ)
    agent = find_agent(spec, machine.environ, unattended=True)
    assert (agent.spec.name, agent.command) == ("acp", (str(program), "serve", "--stdio"))
    assert agent.unattended


@pytest.mark.parametrize("name", ["emacs", "acp:", "acp", "acp:'unclosed"])
def test_an_unknown_agent_is_a_wrong_usage(name: str) -> None:
    with pytest.raises(UsageProblem):
        agent_named(name)


def test_the_usable_ones_are_told_apart(machine: Machine) -> None:
    _with_claude(machine)
    found, problems = usable_agents(TABLE.values(), machine.environ, Settings())
    assert [agent.spec.name for agent in found] == ["claude-code"]
    assert len(problems) == len(TABLE) - 1


def test_the_names_for_the_command_line_are_those_of_the_table() -> None:
    assert tuple(TABLE) == AGENTS


def test_versions_compare_as_numbers() -> None:
    assert parse_version("2.10.0") > parse_version("2.9.9")
    assert parse_version("none") == ()


def test_the_native_command_goes_on_with_the_session() -> None:
    assert CLAUDE_CODE.native_command("abc") == ["claude", "--resume", "abc"]
    assert CODEX.native_command("abc") == ["codex", "resume", "abc"]
