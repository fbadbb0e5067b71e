"""Driving an agent over ACP, with a fake agent as a real process."""

import asyncio
import json
import os
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.runner.acp.errors import AgentFailed, AgentGone, SessionBusy
from handoff_cli.runner.acp.process import group_alive
from handoff_cli.runner.acp.record import Record
from handoff_cli.runner.acp.session import Question, agent_session
from handoff_cli.runner.agents import CLAUDE_CODE, CODEX
from handoff_cli.runner.agents.spec import Agent
from tests.support.fake_agents import NATIVE_ID, FakeAgents


@pytest.fixture
def agents(tmp_path: Path) -> FakeAgents:
    return FakeAgents(tmp_path)


class Driver:
    """Opens the session, gives prompts and remembers what was asked."""

    def __init__(self, agents: FakeAgents, agent: Agent | None = None, choose: str | None = None) -> None:
        self.agents, self.agent = agents, agent or agents.agent()
        self.record = Record()
        self.asked: list[Question] = []
        self.choose = choose

    def prompt(self, *texts: str) -> list[str]:
        return asyncio.run(self._prompt(*texts))

    async def _prompt(self, *texts: str) -> list[str]:
        async with self.open() as session:
            return [await session.prompt(text) for text in texts]

    def open(self) -> Any:
        return agent_session(
            self.agent,
            native_id=NATIVE_ID,
            directory=self.agents.directory,
            record=self.record,
            ask=self._ask,
        )

    async def _ask(self, question: Question) -> str | None:
        self.asked.append(question)
        return next((option.id for option in question.options if option.kind == self.choose), None)


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
    driver = Driver(agents, choose=kind)
    driver.prompt("do: permit")
    assert agents.noted("chosen") == [chosen]
    assert [question.title for question in driver.asked] == ["rm -r build"]


def test_a_cancelled_prompt_ends(agents: FakeAgents) -> None:
    driver = Driver(agents)

    async def work() -> None:
        async with driver.open() as session:
            prompt = asyncio.ensure_future(session.prompt("do: slow"))
            await _until(lambda: driver.record.steps)
            assert driver.record.is_amid_step
            await session.cancel()
            assert await prompt == "cancelled"

    _run(work())


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
        async with driver.open() as session:
            asyncio.ensure_future(session.prompt("do: deaf"))  # noqa: RUF006 - never ends
            await _until(agents.has_noted("deaf"))
            await session.process.stop(patience=0.05, terminate=0.05)

    _run(work())
    assert not group_alive(int(agents.noted("pid")[0]))


def test_what_the_agent_started_ends_with_it(agents: FakeAgents) -> None:
    async def work() -> None:
        async with Driver(agents).open() as session:
            await session.prompt("do: child")
            await session.process.stop(patience=0.05)

    _run(work())
    (child,) = agents.noted("child")
    assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().rpartition(")")[2]


def test_a_session_that_the_terminal_holds_is_told_apart(agents: FakeAgents, tmp_path: Path) -> None:
    (tmp_path / "busy").write_text("1")
    driver = Driver(agents, agents.agent(replace(CODEX, asking_modes=()), FAKE_ACP_BUSY=str(tmp_path / "busy")))
    with pytest.raises(SessionBusy, match="Codex in the terminal holds this session"):
        driver.prompt("hello")


def test_an_agent_without_an_asking_mode_is_not_driven(agents: FakeAgents) -> None:
    driver = Driver(agents, agents.agent(replace(CLAUDE_CODE, asking_modes=("careful",))))
    with pytest.raises(AgentFailed, match="none of the modes careful"):
        driver.prompt("hello")
    assert agents.noted("prompt") == []


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
