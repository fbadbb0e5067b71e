"""The table of agents: what is missing or too old is told with the command that mends it."""

import json
from pathlib import Path

import pytest

from handoff_cli.errors import UsageProblem
from handoff_cli.runner import AGENTS
from handoff_cli.runner.agents import CLAUDE_CODE, CODEX, GEMINI, HERMES, OPENCODE, TABLE, agent_named
from handoff_cli.runner.agents.find import AgentUnusable, NotInstalled, find_agent, parse_version, usable_agents


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


def test_the_agent_never_gets_the_users_token(machine: Machine) -> None:
    _with_claude(machine)
    environ = find_agent(CLAUDE_CODE, machine.environ).environ
    assert "HANDOFF_TOKEN" not in environ
    assert environ["HANDOFF_HOST"] == "1"


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
    machine.program("opencode", "1.18.33")
    machine.program("gemini", "0.61.0")
    assert find_agent(OPENCODE, machine.environ).command == (str(machine.bin / "opencode"), "acp")
    assert find_agent(GEMINI, machine.environ).command == (str(machine.bin / "gemini"), "--acp")


def test_hermes_is_said_to_be_unable(machine: Machine) -> None:
    machine.program("hermes", "0.19.0")
    with pytest.raises(AgentUnusable, match="cannot answer in a thread"):
        find_agent(HERMES, machine.environ)


def test_any_program_that_speaks_acp_can_be_named(machine: Machine) -> None:
    program = machine.program("goose", "no version")
    agent = find_agent(agent_named("acp:goose serve --stdio"), machine.environ)
    assert (agent.spec.name, agent.command) == ("acp", (str(program), "serve", "--stdio"))


@pytest.mark.parametrize("name", ["emacs", "acp:", "acp", "acp:'unclosed"])
def test_an_unknown_agent_is_a_wrong_usage(name: str) -> None:
    with pytest.raises(UsageProblem):
        agent_named(name)


def test_the_usable_ones_are_told_apart(machine: Machine) -> None:
    _with_claude(machine)
    found, problems = usable_agents(TABLE.values(), machine.environ, {})
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
