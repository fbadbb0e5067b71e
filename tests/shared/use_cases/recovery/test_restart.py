"""What a process does at its start for the one that died before it: everything goes on without waiting for a lease."""

import pytest

from shared.domain.handoffs import Handoff, State
from shared.ports.queue import Run
from shared.store.bundle import store_on
from shared.store.leases import claimed_sessions, void_leases
from shared.use_cases.files.fetch_files import LEASE as FILES_LEASE
from shared.use_cases.files.fetch_files import TRIES
from shared.use_cases.recovery.restart import take_up
from shared.use_cases.turns.claim_turn import claim_turn
from tests.shared.use_cases.files.test_files_from_chats import post
from tests.support.table_backends import sqlite_backend
from tests.support.use_case_world import LEASE, TURN_LEASE, World

SENT_BY_DEAD = 30_000


def asked(world: World) -> Handoff:
    world.session()
    return world.ask()


def restart(world: World) -> list[str]:
    """Returns the ids of the handoffs that are to be processed."""
    told: list[str] = []
    take_up(world.services, lambda handoff_id, _platform: told.append(handoff_id))
    return told


def test_a_pending_handoff_is_processed(world: World) -> None:
    handoff = asked(world)

    assert restart(world) == [handoff.id]


def test_a_claimed_handoff_is_processed_and_no_attempt_is_counted(world: World) -> None:
    handoff = asked(world)
    now = world.clock.now()
    for number in range(10):
        world.store.handoffs.claim(handoff.id, claimant=f"dead {number}", now=now, lease_until=now + LEASE)

        assert restart(world) == [handoff.id]
        assert (world.latest(handoff).state, world.latest(handoff).attempt) == (State.PENDING, 0)

    world.process(handoff)
    world.turns()
    assert world.latest(handoff).state is State.COMPLETED


def test_a_turn_whose_run_was_not_sent_is_sent(world: World) -> None:
    handoff = asked(world)
    world.process(handoff)
    world.runs.waiting.clear()

    assert restart(world) == []

    world.agents()
    world.turns()
    assert world.latest(handoff).state is State.COMPLETED


def test_a_reply_whose_wake_up_was_not_sent_is_delivered(world: World) -> None:
    handoff = asked(world)
    world.process(handoff)
    world.agents()
    world.queue.waiting.clear()

    restart(world)

    world.turn()
    assert world.latest(handoff).state is State.COMPLETED


def first_run(world: World) -> Run:
    run, _ = world.runs.waiting[0]
    assert isinstance(run, Run)
    return run


def test_a_turn_that_waits_for_the_agent_is_left_alone(world: World) -> None:
    handoff = asked(world)
    world.process(handoff)
    session = world.current()
    assert claim_turn(world.services, first_run(world))
    claimed = world.current()
    now = world.clock.now()
    world.store.turns.hand_back(claimed, now=now, until=now + 10_000, interrupted=None)
    world.runs.waiting.clear()

    restart(world)

    assert world.runs.waiting == []
    assert session.turn is not None


@pytest.mark.parametrize("has_turn", [True, False], ids=["turn", "part"])
def test_leases_of_a_dead_process_are_void(*, has_turn: bool) -> None:
    with sqlite_backend() as backend:
        world = World(store_on(backend.tables), idempotency="none")
        handoff = asked(world)
        world.process(handoff)
        if has_turn:
            assert claim_turn(world.services, first_run(world))
        else:
            world.agents()
            (part,) = world.store.outbox.journal("s-1", handoff.kickoff_turn)
            now = world.clock.now()
            assert world.store.outbox.sending(part, now=now, until=now + SENT_BY_DEAD)
        now = world.clock.now()
        held = backend.tables.held(now)  # type: ignore[attr-defined]  # SQLite's tables offer it beyond the port

        assert void_leases(backend.tables, held, now=now) == 1

        restart(world)
        assert world.agents() == (2 if has_turn else 0)
        world.turn()
        assert world.latest(handoff).state is State.COMPLETED
        assert world.clock.now() == now


def test_files_that_a_dead_process_was_reading_are_read_at_once() -> None:
    with sqlite_backend() as backend:
        world = World(store_on(backend.tables))
        _, place = world.moved()
        world.platform.files["a.png"] = b"picture"
        post(world, place, "0001", "look", "file:picture:a.png")
        world.messages()
        row, now = world.store.inbox.get(place, "0001"), world.clock.now()
        assert row is not None
        assert world.store.inbox.begin_read(row, now=now, until=now + FILES_LEASE, most=TRIES)

        held = backend.tables.held(now)  # type: ignore[attr-defined]  # see above
        assert void_leases(backend.tables, held, now=now) == 1

        world.agents()
        assert [file.is_stored for file in world.store.files.of("s-1")] == [True]
        assert world.clock.now() == now


def test_a_claimed_turn_can_be_handed_back_by_its_process(world: World) -> None:
    with sqlite_backend() as backend:
        world = World(store_on(backend.tables))
        world.process(asked(world))
        assert claim_turn(world.services, first_run(world))
        now = world.clock.now()

        (session,) = claimed_sessions(backend.tables.held(now))  # type: ignore[attr-defined]  # see above

        assert session.turn is not None
        assert session.turn.lease_until == now + TURN_LEASE
        assert world.store.turns.hand_back(session, now=now, until=now, interrupted=None)
        assert backend.tables.held(now) == []  # type: ignore[attr-defined]  # see above
