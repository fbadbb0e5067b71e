"""Who answers: the machine or the deployment's agent, as the user says and as the machine is there."""

import pytest

from shared.domain.handoffs import State
from shared.domain.routes import Place
from shared.domain.sessions import Executor, Interruption
from shared.errors import TurnEnded, TurnTaken
from shared.use_cases.recovery.sweep import sweep
from shared.use_cases.sessions.resume_session import resume_session
from shared.use_cases.turns.run_for_agent import run_for_agent
from tests.support.machine import Machine, post, shown
from tests.support.use_case_world import LIMIT, TURN_LEASE, USER, World

LEASE_SECONDS = TURN_LEASE / 1000
AWAY = "is not answering"
NOW_CLOUD = "The model of this service answers here now"
FINISHES = "finishes what it works on"
AGAIN = "answers here again"


def looks(world: World, seconds: float) -> None:
    """The looks at a machine's turn that are due in this time, each at its time."""
    end = world.clock.now() + int(seconds * 1000)
    while (due := world.runs.next_at()) is not None and due <= end:
        world.clock.time = max(due, world.clock.time)
        world.agents()
        world.messages()
    world.clock.time = end


def by(world: World) -> Executor | None:
    turn = world.current().turn
    return turn.by if turn else None


# --- the machine is away


def test_a_machine_that_is_known_to_be_away_is_reported_at_once_and_once(
    world: World, machine: Machine, place: Place
) -> None:
    world.wait(90)
    post(world, place, "0001", "And?")
    assert [AWAY in text for text in shown(world, place)] == [True]
    looks(world, 600)
    for _ in range(3):
        world.wait(600)
        sweep(world.services)
        world.messages()
    assert len(shown(world, place)) == 1
    assert world.agent.given == []

    machine.register()
    machine.answer("Back.")
    assert shown(world, place)[1:] == ["Back."]


def test_a_machine_that_fell_asleep_is_reported_within_seconds(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "And?")
    looks(world, 12)
    assert shown(world, place) == []
    looks(world, 1)
    assert [AWAY in text for text in shown(world, place)] == [True]
    post(world, place, "0002", "Hello?")
    looks(world, 60)
    assert len(shown(world, place)) == 1, "the same turn waits"
    assert [word.text for word in machine.claim().words] == ["And?", "Hello?"]


def test_a_machine_at_work_is_not_reported(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "And?")
    machine.start()
    for _ in range(10):
        looks(world, 30)
        machine.report()
        sweep(world.services)
    assert shown(world, place) == []
    machine.result("Done.")
    world.messages()
    assert shown(world, place) == ["Done."]


def test_a_machine_that_dies_at_work_is_reported_after_its_lease(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "And?")
    machine.start()
    looks(world, 60)
    world.wait(61)
    sweep(world.services)
    world.messages()
    assert [AWAY in text for text in shown(world, place)] == [True]
    assert by(world) is Executor.MACHINE


def test_each_turn_is_reported_for_itself(world: World, machine: Machine, place: Place) -> None:
    world.wait(90)
    post(world, place, "0001", "one")
    post(world, place, "0002", "/stop")
    post(world, place, "0003", "three")
    assert [AWAY in text for text in shown(world, place)] == [True, False, True]


# --- kickoffs


def test_a_handoff_without_its_machine_is_confirmed_by_the_deployment(world: World, machine: Machine) -> None:
    machine.session()
    world.wait(90)
    handoff = world.ask()
    world.process(handoff)
    world.turns()
    assert world.latest(handoff).state is State.COMPLETED
    (confirmed,) = world.platform.said(world.current().owner)
    assert "Your own machine was away" in confirmed
    session = world.current()
    assert (session.native_seen, session.message_count, session.answers) == (2, 4, Executor.MACHINE)

    machine.register()
    post(world, session.owner, "0001", "And?")
    claimed = machine.claim()
    assert [message["role"] for message in claimed.unseen] == ["user", "assistant"], "what was said without it"


@pytest.mark.parametrize("is_claimed", [False, True])
@pytest.mark.parametrize("by_sweep", [False, True])
def test_a_kickoff_that_its_machine_does_not_confirm_is_taken_back_after_a_minute(
    world: World, machine: Machine, is_claimed: bool, by_sweep: bool
) -> None:
    machine.session()
    handoff = world.ask()
    world.process(handoff)
    if is_claimed:
        machine.start()
    if by_sweep:
        world.runs.waiting.clear()
    waits = LEASE_SECONDS if is_claimed else 60
    for _ in range(2):
        looks(world, waits / 2 - 1)
        sweep(world.services)
        world.messages()
    assert by(world) is Executor.MACHINE
    looks(world, 3)
    sweep(world.services)
    world.turns()
    assert world.latest(handoff).state is State.COMPLETED
    (confirmed,) = world.platform.said(world.current().owner)
    assert "Your own machine was away" in confirmed
    if is_claimed:
        with pytest.raises(TurnEnded):
            machine.result("Too late.")


def test_machine_gives_a_kickoff_back_to_the_machine(world: World, machine: Machine) -> None:
    machine.session()
    handoff = world.ask()
    world.process(handoff)
    world.wait(60)
    world.agent_run()
    world.messages()
    assert (by(world), world.current().cloud_kickoff) == (Executor.CLOUD, True)
    post(world, world.current().owner, "0001", "/machine")
    assert (by(world), world.current().cloud_kickoff) == (Executor.MACHINE, False)
    machine.answer("Here I am.")
    assert world.latest(handoff).state is State.COMPLETED
    assert len(world.agent.given) == 0


# --- /cloud and /machine


def test_cloud_takes_words_that_wait_for_the_machine(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "And?")
    claimed = machine.poll()[0].turn_id
    post(world, place, "0002", "/cloud")
    world.turns()
    told, reply = shown(world, place)
    assert NOW_CLOUD in told
    assert reply == "reply to 5"
    assert machine.poll() == []
    with pytest.raises(TurnEnded):
        machine.claim(turn_id=claimed)


def test_cloud_lets_a_machine_finish_and_answers_what_comes_next(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "one")
    machine.start()
    post(world, place, "0002", "/cloud")
    post(world, place, "0003", "three")
    assert machine.report().steered == []
    machine.result("From the machine.")
    world.turns()
    told, first, second = shown(world, place)
    assert FINISHES in told
    assert (first, second) == ("From the machine.", "reply to 7")


def test_cloud_takes_a_turn_whose_machine_is_gone(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "one")
    machine.start()
    world.wait(LEASE_SECONDS)
    post(world, place, "0002", "/cloud")
    world.turns()
    assert shown(world, place)[-1] == "reply to 5"
    with pytest.raises(TurnEnded):
        machine.result("Too late.")
    assert world.current().native_dirty, "its own session saw words that it did not answer"


def test_a_turn_that_its_machine_leaves_after_cloud_is_taken_by_the_sweep(
    world: World, machine: Machine, place: Place
) -> None:
    post(world, place, "0001", "one")
    machine.start()
    post(world, place, "0002", "/cloud")
    world.wait(LEASE_SECONDS)
    sweep(world.services)
    world.turns()
    assert shown(world, place)[-1] == "reply to 5"


def test_machine_takes_words_that_no_executor_has_begun(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/cloud")
    post(world, place, "0002", "two")
    assert by(world) is Executor.CLOUD
    post(world, place, "0003", "/machine")
    assert by(world) is Executor.MACHINE
    machine.answer("From the machine.")
    assert AGAIN in shown(world, place)[1]
    assert shown(world, place)[2:] == ["From the machine."]
    world.turns()
    assert world.agent.given == []


def test_machine_takes_a_turn_whose_executor_died(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/cloud")
    post(world, place, "0002", "two")

    def dies() -> str:
        post(world, place, "0003", "/machine")
        assert by(world) is Executor.CLOUD, "it is left alone while it works"
        raise KeyboardInterrupt

    world.agent.next.append(dies)
    with pytest.raises(KeyboardInterrupt):
        world.agents()
    world.wait(LEASE_SECONDS)
    world.runs.waiting.clear()
    sweep(world.services)
    world.messages()
    assert by(world) is Executor.MACHINE
    machine.answer("From the machine.")
    assert shown(world, place)[-1] == "From the machine."


def test_machine_says_that_the_machine_is_away(world: World, machine: Machine, place: Place) -> None:
    world.wait(90)
    post(world, place, "0001", "/machine")
    assert "that machine is away now" in shown(world, place)[0]
    runner = world.store.runners.get(USER, machine.id)
    assert runner is not None
    assert world.store.runners.revoke(runner)
    post(world, place, "0002", "/machine")
    assert "was revoked" in shown(world, place)[1]


@pytest.mark.parametrize("command", ["/cloud", "/machine"])
def test_a_session_without_a_machine_has_no_choice(world: World, command: str) -> None:
    _, place = world.moved()
    post(world, place, "0001", command)
    assert "has no machine" in shown(world, place)[0]
    post(world, Place("chat", "home", "t9"), "0002", command)
    assert "No session of yours" in world.platform.said(Place("chat", "home", "t9"))[0]


@pytest.mark.parametrize("command", ["/cloud", "/machine"])
def test_a_choice_is_made_where_nothing_waits_and_again(
    world: World, machine: Machine, place: Place, command: str
) -> None:
    for number in (1, 2):
        post(world, place, f"000{number}", command)
        assert world.current().answers is (Executor.CLOUD if command == "/cloud" else Executor.MACHINE)
    assert len(shown(world, place)) == 2
    assert machine.poll() == []


def test_a_choice_ends_with_another_agent_of_the_session(world: World, machine: Machine, place: Place) -> None:
    """What the machine's agent has not seen is told to it, from both kinds of turns."""
    post(world, place, "0001", "/cloud")
    post(world, place, "0002", "two")
    world.turns()
    post(world, place, "0003", "/machine")
    post(world, place, "0004", "four")
    claimed = machine.start()
    assert [message["content"] for message in claimed.unseen] == ["two", "reply to 5"]
    assert [word.text for word in claimed.words] == ["four"]
    machine.result("And four.")
    world.messages()
    post(world, place, "0005", "five")
    assert machine.claim("c-5").unseen == []


def test_unseen_messages_are_cut_to_what_one_answer_takes(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/cloud")
    world.agent.next.append(lambda: "long " * 60_000)
    world.agent.next.append(lambda: "last")
    for event_id in ("0002", "0003"):
        post(world, place, event_id, "more")
        world.turns(most=200)
    post(world, place, "0004", "/machine")
    post(world, place, "0005", "and now")
    claimed = machine.claim()
    assert (len(claimed.unseen), claimed.unseen_next) == (2, 6)
    assert len(list(world.store.transcripts.load("s-1", after=6))) == 2


def test_a_cloud_turn_of_a_session_with_a_machine_is_not_suspended(
    world: World, machine: Machine, place: Place
) -> None:
    post(world, place, "0001", "/cloud")
    post(world, place, "0002", "two")

    def dies() -> str:
        raise KeyboardInterrupt

    for _ in range(3):
        world.agent.next.append(dies)
        with pytest.raises(KeyboardInterrupt):
            world.agents()
        world.wait(LEASE_SECONDS)
    world.turns()
    assert "interrupted 3 times" in shown(world, place)[-1]
    assert not world.current().suspended
    assert machine.poll() == []


def test_an_old_mark_of_the_deployment_starts_no_new_session_beside_a_machine(
    world: World, machine: Machine, place: Place
) -> None:
    post(world, place, "0001", "/cloud")
    post(world, place, "0002", "two")
    world.agent.next.append(RuntimeError("broken"))
    with pytest.raises(RuntimeError):
        world.agents()
    pending = world.current().resume_pending
    assert pending is not None
    assert pending.reason is Interruption.REDELIVERED
    post(world, place, "0003", "/machine")
    post(world, place, "0004", "/stop")
    world.wait(2 * 3600)
    machine.register()
    post(world, place, "0005", "five")
    assert world.store.sessions.at(place) == "s-1"
    assert by(world) is Executor.MACHINE
    machine.answer("Five.")
    assert world.current().resume_pending is None


def test_a_terminal_is_answered_by_the_deployment(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "one")
    resume_session(world.services, USER, "s-1", epoch=world.current().epoch)
    world.messages()
    assert by(world) is None
    assert machine.poll() == []


def test_a_run_of_a_machines_turn_does_not_ask_the_deployments_agent(
    world: World, machine: Machine, place: Place
) -> None:
    post(world, place, "0001", "And?")
    run = world.runs.waiting[-1][0]
    run_for_agent(world.services, run, remaining=LIMIT)
    machine.start()
    run_for_agent(world.services, run, remaining=LIMIT)
    assert world.agent.given == []
    with pytest.raises(TurnTaken):
        Machine(world).claim("c-2")
