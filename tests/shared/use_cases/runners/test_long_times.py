"""A machine that sleeps for a day, a process that wakes up too late, and a turn of two hours."""

import pytest

from shared.domain.progress import MAX_SAID, MAX_TOOL, Summary
from shared.domain.routes import Place
from shared.errors import TurnEnded, TurnSuperseded
from shared.use_cases.recovery.sweep import sweep
from tests.support.machine import Machine, post, shown
from tests.support.use_case_world import World

MINUTE, HOUR, DAY = 60, 3600, 86_400
WORDS = ["one", "two", "three", "four", "five"]
AWAY = "is not answering"


def pass_time(world: World, seconds: float, step: float = MINUTE) -> None:
    """Time passes, and the service does each minute what it does each minute."""
    for _ in range(int(seconds / step)):
        world.wait(step)
        sweep(world.services)
        world.messages()


def said_to_model(world: World) -> list[str]:
    return [message["content"] for message in world.transcript()[4:]]


def test_five_messages_for_a_machine_that_sleeps_a_day_are_answered_once(
    world: World, machine: Machine, place: Place
) -> None:
    for number, text in enumerate(WORDS):
        post(world, place, f"000{number}", text)
        pass_time(world, DAY / 5, step=HOUR)
    assert [AWAY in text for text in shown(world, place)] == [True], "told once"

    machine.register()
    claimed = machine.start()
    assert [word.text for word in claimed.words] == WORDS
    assert not claimed.session.native_dirty, "the agent was not given anything before"
    machine.result("All five.")
    world.messages()
    assert shown(world, place)[1:] == ["All five."]
    assert said_to_model(world) == [*WORDS, "All five."]
    assert machine.poll() == []


def test_a_machine_that_falls_asleep_at_work_goes_on_after_a_day(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0000", "begin")
    machine.start()
    for number, text in enumerate(WORDS, 1):
        post(world, place, f"000{number}", text)
        pass_time(world, DAY / 5, step=HOUR)
    assert [AWAY in text for text in shown(world, place)] == [True]

    heard = machine.report(said="Where was I?")
    assert [word.text for word in heard.steered] == WORDS
    given = [word.id for word in heard.steered]
    machine.report(acknowledged=given)
    machine.result("All six.", given=["0000", *given])
    world.messages()
    assert said_to_model(world) == ["begin", *WORDS, "All six."]
    assert [text for text in shown(world, place) if text == "All six."] == ["All six."]


def test_a_process_that_wakes_after_an_hour_commits_nothing(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "And?")
    machine.start("zombie")
    pass_time(world, HOUR)
    successor = Machine(world)
    claimed = successor.start("successor")
    assert claimed.session.native_dirty, "the words may have been given: the agent is told"

    with pytest.raises(TurnSuperseded):
        machine.report(said="still here")
    with pytest.raises(TurnSuperseded):
        machine.result("from the zombie")
    successor.result("from the successor")
    with pytest.raises(TurnEnded):
        machine.result("from the zombie, again")
    world.messages()
    assert said_to_model(world) == ["And?", "from the successor"]
    assert shown(world, place)[-1] == "from the successor"


def test_a_turn_of_two_hours_stays_one_readable_message(world: World, machine: Machine, place: Place) -> None:
    """2,000 tool calls in 7,200 seconds, with a report every 3.6 s: as many as there are calls."""
    post(world, place, "0001", "a long job")
    machine.start()
    calls, seconds = 2000, 2 * HOUR
    longest = 0
    for call in range(1, calls + 1):
        world.wait(seconds / calls)
        machine.report(said="word " * 400, tool=f"make {call} " * 100, summary=Summary(call, 7, int(call * 3.6)))
        world.messages()
        if call % 17 == 0:  # each minute
            sweep(world.services)
            world.messages()
        texts = shown(world, place)
        assert len(texts) == 1, texts
        longest = max(longest, len(texts[0]))
    assert longest < MAX_SAID + MAX_TOOL + 100
    turn = world.current().turn
    assert turn is not None
    assert (turn.fence, turn.begun) == (1, 1), "it was never taken for dead"

    machine.result("Finally.", summary=Summary(calls, 7, seconds))
    world.messages()
    assert shown(world, place) == ["2000 steps, 7 files, 2 h 0 min", "Finally."]
    assert said_to_model(world) == ["a long job", "Finally."]
