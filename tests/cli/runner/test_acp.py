"""Driving an agent over ACP, with a fake agent as a real process."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.runner.acp.errors import AgentFailed, AgentGone, SessionBusy
from handoff_cli.runner.acp.record import Record
from handoff_cli.runner.agent import Agent
from handoff_cli.runner.agents import CLAUDE_CODE, CODEX
from handoff_cli.runner.agents.spec import Installed
from handoff_cli.runner.clock import Clock
from handoff_cli.runner.machine.groups import group_alive
from handoff_cli.runner.machine.locks import session_lock
from handoff_cli.runner.machine.sessions import HandedOver
from handoff_cli.runner.questions.choice import Form
from handoff_cli.runner.questions.permission import Option
from handoff_cli.runner.questions.shown import shown
from tests.cli.runner.conftest import local_runner
from tests.support.fake_agents import NATIVE_ID, FakeAgents


@pytest.fixture
def agents(tmp_path: Path) -> FakeAgents:
    return FakeAgents(tmp_path)


class Driver:
    """Opens the session, gives prompts and remembers what was asked; the agent's audience."""

    def __init__(self, agents: FakeAgents, installed: Installed | None = None, chooses: str | None = None) -> None:
        self.agents, self.installed = agents, installed or agents.agent()
        self.record = Record()
        self.asked: list[str] = []
        self.chooses = chooses

    def prompt(self, *texts: str) -> list[str]:
        return asyncio.run(self._prompt(*texts))

    async def _prompt(self, *texts: str) -> list[str]:
        async with self.open() as agent:
            return [await agent.prompt(text, self) for text in texts]

    @asynccontextmanager
    async def open(self, cancel: float = 3.0) -> AsyncIterator[Agent]:
        session = HandedOver("s-1", self.installed.spec.name, NATIVE_ID, str(self.agents.directory), "")
        lock = session_lock(self.agents.home, session.agent, session.native_id)
        assert lock.acquire()
        agent = Agent(local_runner(self.agents.home, Clock(busy=0.01, cancel=cancel)), session, self.installed, lock)
        try:
            await agent.open(lambda _: None)
            yield agent
        finally:
            await agent.end()
            assert lock.is_free()

    def hear(self, update: object) -> None:
        self.record.add(update)

    async def permit(self, call: Any, options: tuple[Option, ...]) -> str | None:
        if (question := shown(self.record.request(call))) is None:
            return None
        self.asked.append(question.detail)
        return next((option.id for option in options if option.kind == self.chooses), None)

    async def choose(self, form: Form) -> dict[str, Any] | None:
        self.asked += [choice.question for choice in form.choices]
        return None


async def _until(look: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not look():  # noqa: ASYNC110 - another process brings it about
            await asyncio.sleep(0.01)


def _run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_a_session_is_resumed_by_its_own_id_and_asks_for_everything(agents: FakeAgents) -> None:
    driver = Driver(agents)
    assert driver.prompt("hello") == ["end_turn"]
    assert agents.noted("resume") == [NATIVE_ID]
    assert agents.noted("mode") == ["default"]
    assert driver.record.reply == "You said: hello"


def test_what_a_load_replays_is_not_the_answer(agents: FakeAgents) -> None:
    Driver(agents).prompt("one")
    driver = Driver(agents, agents.agent(FAKE_ACP_LOADS="1"))
    driver.prompt("two")
    assert agents.noted("load") == [NATIVE_ID]
    assert driver.record.messages(driver.record.reply) == [{"role": "assistant", "content": "You said: two"}]


@pytest.mark.parametrize(("kind", "chosen"), [("allow_once", "yes-7"), ("reject_once", "no-7"), (None, "no-7")])
def test_options_are_chosen_by_their_kind(agents: FakeAgents, kind: str | None, chosen: str) -> None:
    driver = Driver(agents, chooses=kind)
    driver.prompt("do: permit")
    assert agents.noted("chosen") == [chosen]
    assert driver.asked == ["▸ command: rm -r build"]


@pytest.mark.parametrize(("how", "asked"), [("step", ["▸ server: files\n▸ arguments.path: /etc"]), ("nothing", [])])
def test_a_request_is_shown_with_its_step_and_refused_without_content(
    agents: FakeAgents, how: str, asked: list[str]
) -> None:
    driver = Driver(agents, chooses="allow_once")
    driver.prompt(f"do: permit {how}")
    assert driver.asked == asked
    assert agents.noted("chosen") == ["yes-7" if asked else "no-7"]


def test_a_cancelled_prompt_ends(agents: FakeAgents) -> None:
    driver = Driver(agents)

    async def work() -> None:
        async with driver.open() as agent:
            prompt = asyncio.ensure_future(agent.prompt("do: slow", driver))
            await _until(lambda: driver.record.steps)
            assert driver.record.is_amid_step
            await agent.end()
            assert await prompt == "cancelled"

    _run(work())
    assert agents.noted("cancel") == [""]


@pytest.mark.parametrize(("when", "said"), [("before", ""), ("during", "Half of an"), ("after", "Half of an answer.")])
def test_a_crash_is_told_with_what_was_said_before(agents: FakeAgents, when: str, said: str) -> None:
    driver = Driver(agents)
    with pytest.raises(AgentGone, match=r"Claude Code ended unexpectedly \(exit code 3\)"):
        driver.prompt(f"do: crash {when}")
    assert driver.record.reply == said


def test_garbage_on_stdout_is_skipped(agents: FakeAgents) -> None:
    driver = Driver(agents)
    assert driver.prompt("do: garbage") == ["end_turn"]
    assert driver.record.reply == "Fine."


def test_a_line_of_megabytes_is_read_and_cut(agents: FakeAgents) -> None:
    driver = Driver(agents)
    driver.prompt("do: tools 1 3000000")
    _, result, _ = driver.record.messages(driver.record.reply)
    assert len(result["content"]) < 2100
    assert result["content"].endswith("[… cut here]")


def test_an_agent_that_ignores_everything_is_killed_with_its_group(agents: FakeAgents) -> None:
    driver = Driver(agents)

    async def work() -> None:
        async with driver.open(cancel=0.05) as agent:
            prompt = asyncio.ensure_future(agent.prompt("do: deaf", driver))
            await _until(agents.has_noted("deaf"))
            await agent.end()
            with pytest.raises(asyncio.CancelledError):
                await prompt

    _run(work())
    assert not group_alive(int(agents.noted("pid")[0]))


def test_what_the_agent_started_ends_with_it(agents: FakeAgents) -> None:
    Driver(agents).prompt("do: child")
    (child,) = agents.noted("child")
    assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().rpartition(")")[2]


def test_a_session_that_the_terminal_holds_is_told_apart(agents: FakeAgents, tmp_path: Path) -> None:
    (tmp_path / "busy").write_text("1")
    driver = Driver(
        agents, agents.agent(replace(CODEX, asking_modes=(), busy_seconds=0), FAKE_ACP_BUSY=str(tmp_path / "busy"))
    )
    with pytest.raises(SessionBusy, match="Codex in the terminal holds this session"):
        driver.prompt("hello")


def test_an_agent_without_an_asking_mode_is_not_driven(agents: FakeAgents) -> None:
    driver = Driver(agents, agents.agent(replace(CLAUDE_CODE, asking_modes=("careful",))))
    with pytest.raises(AgentFailed, match="none of the modes careful"):
        driver.prompt("hello")
    assert agents.noted("prompt") == []


@pytest.mark.parametrize("how", ["mode", "options"])
def test_a_mode_in_which_the_agent_does_not_ask_is_set_back(agents: FakeAgents, how: str) -> None:
    driver = Driver(agents)
    assert driver.prompt(f"do: mode acceptEdits {how}") == ["end_turn"]
    assert agents.noted("mode") == ["default", "default"]
    assert driver.record.reply.startswith("Done.")
    assert "changed to the mode “acceptEdits”" in driver.record.reply


def test_a_mode_in_which_the_agent_asks_is_left_alone(agents: FakeAgents) -> None:
    driver = Driver(agents)
    driver.prompt("do: mode plan")
    assert agents.noted("mode") == ["default"]
    assert driver.record.reply == "Done."


def test_a_turn_ends_when_the_mode_cannot_be_set_back(agents: FakeAgents) -> None:
    with pytest.raises(AgentFailed, match=r"“bypass”.*could not be set back"):
        Driver(agents).prompt("do: mode bypass stuck")
    assert agents.noted("cancel") == [""]


def test_what_leaves_its_mode_before_a_prompt_is_set_back_first(agents: FakeAgents) -> None:
    driver = Driver(agents, agents.agent(FAKE_ACP_LEAVES="acceptEdits"))

    async def prompt() -> None:
        async with driver.open() as agent:
            await _until(lambda: agents.noted("mode") == ["default", "default"])
            await agent.prompt("hello", driver)

    asyncio.run(prompt())
    assert "changed to the mode “acceptEdits”" in driver.record.reply


def test_what_cannot_be_set_back_is_not_prompted(agents: FakeAgents) -> None:
    driver = Driver(agents, agents.agent(FAKE_ACP_LEAVES="bypass stuck"))

    async def prompt() -> None:
        async with driver.open() as agent:
            await _until(lambda: agents.noted("cancel"))
            with pytest.raises(AgentFailed, match=r"“bypass”.*could not be set back"):
                await agent.prompt("hello", driver)

    asyncio.run(prompt())
    assert agents.noted("prompt") == []


def test_what_could_not_be_set_back_does_not_stay_open(agents: FakeAgents) -> None:
    driver = Driver(agents)

    async def prompt() -> bool:
        async with driver.open() as agent:
            await agent.prompt("hello", driver)
            assert agent.rest()
            with pytest.raises(AgentFailed, match="could not be set back"):
                await agent.prompt("do: mode bypass stuck", driver)
            return agent.rest()

    assert not asyncio.run(prompt())


def test_another_version_of_the_protocol_is_refused(agents: FakeAgents) -> None:
    with pytest.raises(AgentFailed, match="version 2 of ACP"):
        Driver(agents, agents.agent(FAKE_ACP_PROTOCOL="2")).prompt("hello")


def test_a_directory_that_is_gone_is_told(agents: FakeAgents) -> None:
    driver = Driver(agents)
    os.rmdir(agents.directory)  # noqa: PTH106 - the property would make it again
    driver.agents = _Gone(agents.home)
    with pytest.raises(AgentFailed, match="cannot be started in"):
        driver.prompt("hello")


class _Gone(FakeAgents):
    @property
    def directory(self) -> Path:
        return self.home / "gone"


def test_the_agent_knows_that_the_runner_drives_it(agents: FakeAgents) -> None:
    driver = Driver(agents)
    driver.prompt("do: environment")
    assert json.loads(driver.record.reply) == {"HANDOFF_HOST": "1"}
