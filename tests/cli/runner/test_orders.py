"""Orders at the runner: what the user chooses in the thread is set in the agent, and set again in each new process."""

from functools import partial

import pytest

from handoff_cli.runner.acp.options import Options
from handoff_cli.runner.agents import CLAUDE_CODE, CODEX
from handoff_cli.runner.agents.spec import AgentSpec
from handoff_cli.runner.machine.groups import group_alive
from handoff_cli.runner.settings import Settings
from tests.cli.runner.conftest import Machine
from tests.support.runner_service import RunnerThread


@pytest.fixture
def thread(machine: Machine) -> RunnerThread:
    """A thread whose runner is at work; no process stays open."""
    machine.settings = Settings(warm=0)
    thread = machine.hand_over()
    start(machine)
    return thread


def start(machine: Machine) -> None:
    """The service knows what the runner does once that polls."""
    before = len(machine.proxy.calls("GET", ".*/turns"))
    machine.start()
    machine.wait(lambda: len(machine.proxy.calls("GET", ".*/turns")) > before)


def told(machine: Machine, thread: RunnerThread, text: str) -> str:
    """What is posted with this text."""
    machine.wait(lambda: thread.bot_texts(text))
    return thread.bot_texts(text)[-1]


def test_what_the_agent_offers_is_listed(machine: Machine, thread: RunnerThread) -> None:
    thread.say("/model")
    said = told(machine, thread, "haiku")
    assert "opus" in said
    assert machine.agents.noted("prompt") == []


def test_a_choice_is_set_and_set_again_in_each_new_process(machine: Machine, thread: RunnerThread) -> None:
    thread.say("/model Haiku")
    told(machine, thread, "Model: haiku")
    for text in ("one", "two"):
        machine.answer(machine.service.say(thread, text))
    assert machine.agents.noted("set") == ["model=haiku"] * 3
    assert len(set(machine.agents.noted("pid"))) == 3


def test_a_choice_is_kept_by_a_process_that_stays_open(machine: Machine) -> None:
    thread = machine.hand_over()
    machine.start()
    machine.answer(machine.service.say(thread, "one"))
    thread.say("/effort high")
    told(machine, thread, "Effort: high")
    machine.answer(machine.service.say(thread, "two"))
    assert machine.agents.noted("set") == ["effort=high"]
    assert len(set(machine.agents.noted("pid"))) == 1


def test_a_choice_outlives_the_runner(machine: Machine, thread: RunnerThread) -> None:
    thread.say("/effort high")
    told(machine, thread, "Effort: high")
    machine.stop()
    start(machine)
    machine.answer(machine.service.say(thread, "one"))
    assert machine.agents.noted("set") == ["effort=high"] * 2


def test_an_agent_at_work_is_asked_at_once(machine: Machine, thread: RunnerThread) -> None:
    marker = machine.home / "go"
    turn = machine.service.say(thread, f"do:until {marker}")
    machine.wait(machine.agents.has_noted("prompt"))
    thread.say("/model haiku")
    told(machine, thread, "Model: haiku")
    marker.touch()
    assert machine.answer(turn).endswith("The file is there.")
    assert len(set(machine.agents.noted("pid"))) == 1


def test_an_order_whose_turn_ends_meanwhile_gets_another_process(machine: Machine, thread: RunnerThread) -> None:
    marker = machine.home / "go"
    turn = machine.service.say(thread, f"do:until {marker}")
    machine.wait(machine.agents.has_noted("prompt"))
    (first,) = set(machine.agents.noted("pid"))

    def end_turn(_: object) -> None:
        marker.touch()
        machine.answer(turn)
        machine.wait(lambda: not group_alive(int(first)))

    machine.proxy.fail("POST .*/take", change=end_turn)
    thread.say("/model haiku")
    told(machine, thread, "Model: haiku")
    assert len(set(machine.agents.noted("pid"))) == 2
    machine.answer(machine.service.say(thread, "one"))
    assert machine.agents.noted("set") == ["model=haiku"] * 2


def test_the_last_of_several_choices_counts(machine: Machine, thread: RunnerThread) -> None:
    marker = machine.home / "go"
    turn = machine.service.say(thread, f"do:until {marker}")
    machine.wait(machine.agents.has_noted("prompt"))
    wanted = ["haiku", "opus", "haiku", "opus"]

    def are_told(count: int) -> bool:
        return len(thread.bot_texts("Model: ")) == count

    for count, model in enumerate(wanted, start=1):
        thread.say(f"/model {model}")
        # Commands of one moment have lines of their own, so their orders may be made in any order.
        machine.wait(partial(are_told, count))
    marker.touch()
    machine.answer(turn)
    assert machine.agents.noted("set") == [f"model={model}" for model in wanted]


def test_an_unknown_value_is_refused_with_the_list(machine: Machine, thread: RunnerThread) -> None:
    thread.say("/model sonnet")
    assert "haiku" in told(machine, thread, "offers no such model")
    assert machine.agents.noted("set") == []


def test_a_mode_that_does_not_ask_cannot_be_chosen(machine: Machine, thread: RunnerThread) -> None:
    thread.say("/mode auto")
    said = told(machine, thread, "offers no such mode")
    assert "plan" in said
    assert "`auto`" not in said
    thread.say("/mode plan")
    told(machine, thread, "Mode: plan")
    machine.answer(machine.service.say(thread, "one"))
    assert machine.agents.noted("set") == ["mode=plan"] * 2


def test_an_agent_that_cannot_be_opened_says_why(machine: Machine) -> None:
    machine.settings = Settings(warm=0)
    machine.agent = machine.agents.agent(FAKE_ACP_PROTOCOL="7")
    thread = machine.hand_over()
    start(machine)
    thread.say("/model")
    assert told(machine, thread, "speaks version 7")


def test_what_a_turn_has_spent_is_counted_and_a_budget_stops(machine: Machine) -> None:
    machine.agent = machine.agents.agent(FAKE_ACP_COST="0.02")
    thread = machine.hand_over()
    machine.start()
    machine.answer(machine.service.say(thread, "one"))
    thread.say("/budget 0.01")
    told(machine, thread, "counted from now")
    machine.answer(machine.service.say(thread, "two"))
    told(machine, thread, "has spent $0.02; its budget is $0.01")
    turn = machine.service.say(thread, "three")
    thread.say("/usage")
    told(machine, thread, "200 tokens, $0.04, context 20k of 200k (10 %)")
    assert machine.agents.noted("prompt") == ["one", "two"]
    message = thread.question()
    thread.press(message, message["buttons"][0]["label"])
    machine.answer(turn)
    assert [body["usage"] for body in turn.results] == [
        {"tokens": 100, "context": 20_000, "window": 200_000, "cost": pytest.approx(0.06)}
    ]


def test_a_stopped_turn_is_counted(machine: Machine) -> None:
    machine.agent = machine.agents.agent(FAKE_ACP_COST="0.02")
    turn = machine.say("do: slow")
    machine.start()
    machine.wait(lambda: turn.progress and turn.progress[-1].get("tool"))
    turn.thread.say("/stop")
    machine.wait(lambda: turn.sent("events")[-1].get("tokens") == 100)
    assert [body for body in turn.sent("events")[:-1] if "tokens" in body] == []
    turn.thread.say("/usage")
    told(machine, turn.thread, "This session: 100 tokens")


@pytest.mark.parametrize(
    ("spec", "modes"), [(CLAUDE_CODE, ("default", "plan")), (CODEX, ("default", "plan"))], ids=lambda one: str(one)[:20]
)
def test_only_modes_that_ask_may_be_chosen(spec: AgentSpec, modes: tuple[str, ...]) -> None:
    assert spec.modes_to_choose == modes
    assert Options(spec).dial("mode") is None
