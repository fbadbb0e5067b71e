"""Turns on a user's machine, row by row: offered, claimed, begun, committed once, whatever dies or comes late."""

from collections.abc import Callable
from typing import Any

import pytest

from shared.domain.handoffs import State
from shared.domain.progress import Summary
from shared.domain.routes import Place
from shared.domain.sessions import Executor
from shared.errors import (
    InvalidRequest,
    OtherResult,
    RunnerRevoked,
    RunnerTooOld,
    TurnEnded,
    TurnSuperseded,
    TurnTaken,
    UnknownRunner,
    UnknownTurn,
)
from shared.ports.queue import WakeUp
from shared.ports.tables import Table
from shared.store.leases import claimed_sessions, void_leases
from shared.use_cases.runners.claim_machine_turn import claim_machine_turn
from shared.use_cases.runners.live_turn import TurnName
from shared.use_cases.runners.register import (
    is_sign_due,
    note_sign,
    own_runner,
    poll,
    register_runner,
    released_sessions,
    revoke_runner,
)
from shared.use_cases.sessions.resume_session import resume_session
from shared.use_cases.sessions.save_session import delete_session, save_session
from tests.support.machine import Machine, post, shown
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import TURN_LEASE, USER, World

LEASE_SECONDS = TURN_LEASE / 1000


def words(world: World) -> list[str]:
    return [message["content"] for message in world.transcript()[4:]]


def is_at_rest(world: World, machine: Machine) -> bool:
    left = world.store.turns.unsettled("s-1"), world.queue.waiting, machine.poll()
    return world.current().turn is None and left == ([], [], [])


def strike(world: World, machine: Machine, times: int) -> None:
    """Runs that begin and are not heard of again."""
    for number in range(times):
        machine.start(f"strike-{number}")
        world.wait(LEASE_SECONDS)


# --- one turn


def test_a_handoff_is_confirmed_by_the_machine(world: World, machine: Machine) -> None:
    machine.session()
    handoff = world.ask()
    world.process(handoff)
    (pointer,) = machine.poll()
    assert (pointer.session_id, pointer.is_kickoff, pointer.native_id) == ("s-1", True, "n-1")
    claimed = machine.claim()
    (prompt,) = claimed.words
    assert "handed off" in prompt.text
    assert (prompt.id, claimed.unseen, claimed.unseen_next) == (handoff.kickoff_turn, [], None)
    machine.begin()
    machine.result("Here I am.")
    world.messages()
    assert world.latest(handoff).state is State.COMPLETED
    assert world.platform.said(world.current().owner) == ["Here I am."]
    assert world.agent.given == []
    assert is_at_rest(world, machine)


def test_words_are_answered_by_the_machine(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "And?")
    claimed = machine.claim()
    assert [(word.id, word.text) for word in claimed.words] == [("0001", "And?")]
    assert (claimed.unseen, claimed.session.native_dirty) == ([], False)
    machine.begin()
    assert world.current().native_dirty
    machine.result("All of it.", summary=Summary(3, 1, 48))
    world.messages()
    assert shown(world, place) == ["All of it."]
    assert words(world) == ["And?", "All of it."]
    session = world.current()
    assert (session.native_seen, session.native_dirty, session.resume_pending) == (6, False, None)
    assert is_at_rest(world, machine)
    assert world.agent.given == []


def test_a_failure_is_the_reply(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "And?")
    machine.start()
    machine.result("The agent could not be started.", is_failure=True)
    world.messages()
    assert shown(world, place) == ["The agent could not be started."]
    assert world.store.inbox.new(place, limit=5) == []


def test_a_very_long_reply_is_committed(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "And?")
    machine.start()
    machine.result("word " * 60_000)
    world.messages()
    assert len(shown(world, place)) == 61
    assert is_at_rest(world, machine)


# --- claim


def test_a_second_process_finds_the_turn_taken(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "And?")
    machine.start()
    with pytest.raises(TurnTaken):
        Machine(world).claim("c-2")
    world.wait(LEASE_SECONDS)
    second = Machine(world)
    assert second.claim("c-2").session.native_dirty, "it is told that a run was interrupted"
    assert second.turn.fence == 2
    with pytest.raises(TurnSuperseded):
        machine.result()
    second.begin()
    second.result("Once.")
    world.messages()
    assert shown(world, place)[-1:] == ["Once."]


def test_a_restarted_runner_does_not_wait_for_its_own_lease(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "And?")
    machine.start()
    restarted = Machine(world)
    with pytest.raises(TurnTaken):
        restarted.claim("c-2", previous_fence=0)
    assert restarted.claim("c-2", previous_fence=1).session.native_dirty
    with pytest.raises(TurnSuperseded):
        machine.begin()


def test_another_runner_claims_nothing(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "And?")
    other = Machine(world, "desktop")
    assert other.poll() == []
    with pytest.raises(UnknownTurn):
        other.claim()
    turn = world.current().turn
    assert turn is not None
    with pytest.raises(UnknownRunner):
        claim_machine_turn(
            world.services, TurnName("eve", machine.id, "s-1", turn.id), claim_id="c", previous_fence=None
        )
    assert world.current().turn == turn


def test_a_turn_with_a_closed_row_ends_at_the_claim(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "one")
    turn_id = machine.poll()[0].turn_id
    row = world.store.inbox.get(place, "0001")
    assert row is not None
    world.store.inbox.close([row], by="stopped")
    with pytest.raises(TurnEnded):
        machine.claim()
    assert world.current().turn is None
    world.messages()
    assert is_at_rest(world, machine)
    with pytest.raises(TurnEnded):
        machine.claim(turn_id=turn_id)


def test_an_ended_turn_is_removed_from_what_is_polled(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "one")
    (pointer,) = machine.poll()
    assert world.store.turns.end(world.current(), now=world.clock.now())
    with pytest.raises(TurnEnded):
        machine.claim(turn_id=pointer.turn_id)
    assert machine.poll() == []


def test_words_that_were_interrupted_three_times_are_given_up(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "And?")
    strike(world, machine, 3)
    with pytest.raises(TurnEnded):
        machine.claim("c-4")
    world.messages()
    assert "interrupted 3 times" in shown(world, place)[-1]
    session = world.current()
    assert (session.suspended, session.resume_pending, session.native_dirty) == (False, None, True)
    assert is_at_rest(world, machine)

    post(world, place, "0002", "And?")
    assert machine.claim("c-5").session.native_dirty
    machine.begin()
    machine.result("This time.")
    assert not world.current().native_dirty


def test_a_restart_during_the_third_run_does_not_start_a_fourth(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "And?")
    strike(world, machine, 2)
    machine.start("c-3")
    with pytest.raises(TurnTaken):
        Machine(world).claim("c-4", previous_fence=machine.turn.fence)
    world.wait(LEASE_SECONDS)
    with pytest.raises(TurnEnded):
        Machine(world).claim("c-4", previous_fence=machine.turn.fence)
    world.messages()
    assert "interrupted 3 times" in shown(world, place)[-1]


def test_a_kickoff_that_was_interrupted_three_times_fails(world: World, machine: Machine) -> None:
    machine.session()
    handoff = world.ask()
    world.process(handoff)
    strike(world, machine, 3)
    with pytest.raises(TurnEnded):
        machine.claim("c-4")
    assert world.latest(handoff).state is State.FAILED
    assert world.current().owner.is_cli
    world.messages()
    assert is_at_rest(world, machine)


def test_words_wait_behind_a_kickoff(world: World, machine: Machine) -> None:
    machine.session()
    world.process(world.ask())
    machine.start()
    place = world.current().owner
    post(world, place, "0001", "Already?")
    assert machine.report().steered == [], "a confirmation takes no other words"
    machine.result("Here I am.")
    world.messages()
    assert [word.text for word in machine.claim("c-2").words] == ["Already?"]


# --- result


def test_a_repeated_result_succeeds_and_wakes_the_place_again(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "And?")
    machine.start()
    machine.result("Once.")
    machine.result("Once.")
    world.messages()
    world.queue.forget()
    machine.result("Once.")
    assert [type(one.message) for one in world.queue.waiting] == [WakeUp], "after it was settled, too"
    world.messages()
    assert shown(world, place) == ["Once."]
    assert words(world) == ["And?", "Once."]


@pytest.mark.parametrize("is_settled", [False, True])
def test_another_result_of_the_same_claim_is_refused(
    world: World, machine: Machine, place: Place, is_settled: bool
) -> None:
    post(world, place, "0001", "And?")
    machine.start()
    machine.result("First.")
    if is_settled:
        world.messages()
    with pytest.raises(OtherResult):
        machine.result("Second.")
    world.messages()
    assert shown(world, place) == ["First."]


def test_words_that_were_not_given_stay_for_the_next_turn(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "one")
    machine.start()
    post(world, place, "0002", "two")
    machine.result("To one.")
    world.messages()
    assert [word.text for word in machine.claim("c-2").words] == ["two"]
    assert words(world) == ["one", "To one."]


def test_a_result_that_names_no_words_is_refused_and_the_turn_stays(
    world: World, machine: Machine, place: Place
) -> None:
    """To end the turn would offer the same words again, without a strike."""
    post(world, place, "0001", "one")
    machine.start()
    with pytest.raises(InvalidRequest):
        machine.result(given=["9999"])
    assert world.current().turn is not None
    machine.result("After all.")


def test_a_failed_kickoff_fails_the_handoff_and_brings_the_session_back(world: World, machine: Machine) -> None:
    machine.session()
    handoff = world.ask()
    world.process(handoff)
    machine.start()
    machine.result("Your agent is not logged in.", is_failure=True)
    failed = world.latest(handoff)
    assert failed.state is State.FAILED
    assert failed.error is not None
    assert "not logged in" in failed.error.message
    assert world.current().owner.is_cli
    world.messages()
    assert is_at_rest(world, machine)
    with pytest.raises(TurnEnded):
        machine.result("Here I am.")


# --- /stop


def test_stop_ends_a_turn_at_work_and_its_result_is_refused(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "one")
    machine.start()
    post(world, place, "0002", "/stop")
    assert world.current().turn is None
    calls: list[Callable[[], Any]] = [machine.begin, machine.report, machine.result]
    for call in calls:
        with pytest.raises(TurnEnded):
            call()
    assert words(world) == []
    assert world.current().native_dirty, "the agent's own session has seen words that were not answered"
    assert is_at_rest(world, machine)
    assert len(shown(world, place)) == 1

    post(world, place, "0003", "three")
    assert machine.claim("c-2").session.native_dirty


def test_a_result_whose_row_was_closed_ends_the_turn(world: World, machine: Machine, place: Place) -> None:
    """`/stop` closes rows first: its process may have died before it ended the turn."""
    post(world, place, "0001", "one")
    machine.start()
    world.store.inbox.close(world.store.inbox.new(place, limit=5), by="stopped")
    with pytest.raises(TurnEnded):
        machine.result()
    assert world.current().turn is None
    world.messages()
    assert is_at_rest(world, machine)


# --- moves and ends


def test_a_resumed_session_takes_nothing_from_its_machine(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "one")
    machine.start()
    resume_session(world.services, USER, "s-1", epoch=world.current().epoch)
    for call in (machine.begin, machine.report, machine.result):
        with pytest.raises(TurnEnded):
            call()
    world.messages()
    assert words(world) == []
    assert is_at_rest(world, machine)


def test_a_deleted_session_leaves_nothing_to_poll(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "one")
    machine.start()
    world.wait(LEASE_SECONDS)
    delete_session(world.services, USER, "s-1")
    assert machine.poll() == []
    assert world.store.turns.due(now=2**53, limit=9) == []
    assert machine.claimed is not None
    assert world.store.questions.of("s-1", machine.claimed.offer.id) == []


def test_a_restart_of_the_service_leaves_a_machine_at_work_alone(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "one")
    machine.start()
    tables = world.store.sessions._tables
    assert isinstance(tables, MemoryTables)
    held = [item for item in tables.scan(Table.SESSIONS) if item["sk"] == "META"]
    assert (void_leases(tables, held, now=world.clock.now()), claimed_sessions(held)) == (0, [])
    turn = world.current().turn
    assert turn is not None
    assert turn.lease_until == world.clock.now() + TURN_LEASE
    machine.result("Done.")


def test_a_machine_leaves_no_mark_of_an_interrupted_run(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "And?")
    strike(world, machine, 2)
    assert world.current().resume_pending is None
    machine.start("c-3")
    world.wait(2 * 3600)
    post(world, place, "0002", "Still there?")
    assert world.current().id == "s-1"
    machine.result("Yes.")
    world.messages()
    assert "Yes." in shown(world, place)


# --- runners


def test_a_runner_of_another_protocol_is_too_old(world: World) -> None:
    with pytest.raises(RunnerTooOld):
        register_runner(world.services, USER, "laptop", name="x", agents={}, version="9", protocol=2)
    with pytest.raises(UnknownRunner):
        own_runner(world.services, USER, "laptop")


def test_a_sign_of_life_is_due_now_and_then(world: World, machine: Machine) -> None:
    began = world.clock.now()
    seen = []
    for _ in range(9):
        runner, *_ = poll(world.services, USER, machine.id)
        seen.append(runner.seen_at - began)
        if is_sign_due(world.services, runner):
            note_sign(world.services, runner)
        world.wait(10)
    assert seen == [0, 0, 0, 0, 0, 40_000, 40_000, 40_000, 40_000]
    assert own_runner(world.services, USER, machine.id).is_online(world.clock.now())


def test_a_runner_polls_often_while_it_is_in_use(world: World, machine: Machine, place: Place) -> None:
    def pause() -> int:
        return poll(world.services, USER, machine.id)[0].poll_after_ms(world.clock.now())

    post(world, place, "0001", "And?")
    machine.answer()
    assert pause() == 1_000
    world.wait(120)
    assert pause() == 3_000
    world.wait(1_680)
    assert pause() == 10_000
    machine.register()
    assert pause() == 10_000, "to register is no use"


@pytest.mark.parametrize("is_claimed", [False, True])
def test_revoking_takes_the_turns_back_for_the_deployment(
    world: World, machine: Machine, place: Place, is_claimed: bool
) -> None:
    post(world, place, "0001", "And?")
    if is_claimed:
        machine.start()
    revoke_runner(world.services, USER, machine.id)
    assert world.current().turn is None
    if is_claimed:
        for call in (machine.begin, machine.report, machine.result):
            with pytest.raises(RunnerRevoked):
                call()
    with pytest.raises(RunnerRevoked):
        machine.poll()
    with pytest.raises(RunnerRevoked):
        machine.register()
    world.turns()
    assert shown(world, place) == ["reply to 5"]
    assert world.current().answers is Executor.MACHINE
    revoke_runner(world.services, USER, machine.id)
    with pytest.raises(UnknownRunner):
        revoke_runner(world.services, "eve", machine.id)


def test_an_offer_that_met_the_revoking_is_taken_back(world: World, machine: Machine, place: Place) -> None:
    """The place had read the runner before it was revoked."""
    post(world, place, "0001", "And?")
    runner = world.store.runners.get(USER, machine.id)
    assert runner is not None
    assert world.store.runners.revoke(runner)
    world.wait(13)
    world.turns()
    assert shown(world, place) == ["reply to 5"]


def test_a_turn_of_a_machine_that_the_session_has_left_is_offered_to_the_new_one(
    world: World, machine: Machine, place: Place
) -> None:
    post(world, place, "0001", "And?")
    desktop = Machine(world, "desktop")
    save_session(world.services, USER, "s-1", {"runs_on": desktop.runs_on})
    with pytest.raises(TurnTaken):
        machine.claim()
    world.wait(13)
    world.agents()
    world.messages()
    desktop.answer("From the desktop.")
    assert shown(world, place) == ["From the desktop."]
    assert machine.poll() == []


def test_a_session_names_only_known_runners(world: World, machine: Machine) -> None:
    revoke_runner(world.services, USER, machine.id)
    with pytest.raises(UnknownRunner):
        save_session(world.services, USER, "s-9", {"runs_on": machine.runs_on})


def _released(world: World, runner: str = "laptop", user: str = USER) -> list[str]:
    return released_sessions(world.services, user, runner, ["s-1"])


def test_a_session_in_a_chat_stays_with_its_runner(world: World, machine: Machine) -> None:
    machine.session()
    assert _released(world) == ["s-1"], "it is in the terminal"
    world.process(world.ask())
    assert _released(world) == [], "it is on its way"
    machine.answer("Here I am.")
    assert _released(world) == []
    assert _released(world, runner="other") == ["s-1"]
    assert _released(world, user="eve") == ["s-1"]
    assert released_sessions(world.services, USER, "laptop", ["unknown"]) == ["unknown"]


@pytest.mark.parametrize("how", ["/cloud", "resume", "delete"])
def test_a_session_that_is_not_answered_there_any_more_is_released(world: World, machine: Machine, how: str) -> None:
    place = machine.moved()
    if how == "resume":
        resume_session(world.services, USER, "s-1", epoch=world.current().epoch)
    elif how == "delete":
        delete_session(world.services, USER, "s-1")
    else:
        post(world, place, "cloud-1", how)
    assert _released(world) == ["s-1"]
    if how == "/cloud":
        post(world, place, "machine-1", "/machine")
        assert _released(world) == []
