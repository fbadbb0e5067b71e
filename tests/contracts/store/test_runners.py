"""Runners: registered by their user, seen, revoked; the turns that each polls."""

from dataclasses import replace

import pytest

from shared.domain.runners import Runner
from shared.ports.tables import Put, Table
from tests.contracts.store.world import NOW, RUNS_ON, World, sure
from tests.support.table_backends import Backend

LAPTOP = Runner("laptop", "ada", "Ada's laptop", agents={"claude-code": "2.1"}, version="0.3", seen_at=NOW)


def get(world: World) -> Runner:
    return sure(world.store.runners.get("ada", "laptop"))


def test_a_runner_is_registered_for_its_user(world: World) -> None:
    assert world.store.runners.register(LAPTOP)
    assert get(world) == LAPTOP
    assert list(world.store.runners.list("ada")) == [LAPTOP]
    assert world.store.runners.get("eve", "laptop") is None
    assert world.store.runners.get("ada", "lap") is None
    assert world.store.runners.list("eve") == []


def test_two_users_may_name_their_runners_alike(world: World) -> None:
    hers, his = LAPTOP, replace(LAPTOP, user_id="eve", name="Eve's laptop")
    assert world.store.runners.register(hers)
    assert world.store.runners.register(his)
    assert (get(world), world.store.runners.get("eve", "laptop")) == (hers, his)


def test_a_runner_that_registers_again_changes_what_is_known_of_it(world: World) -> None:
    assert world.store.runners.register(LAPTOP)
    newer = replace(
        LAPTOP,
        name="Work",
        agents={"codex": "0.9"},
        version="0.4",
        turn_at=NOW - 5,
        unattended=frozenset({"codex", "acp"}),
    )
    assert world.store.runners.register(newer)
    assert get(world) == newer


def test_a_users_runners_are_listed_and_nothing_else_of_the_user(world: World) -> None:
    world.store.accounts.set_home("ada", world.session().owner)
    ids = ["a", "b", "c"]
    for runner_id in ids:
        assert world.store.runners.register(replace(LAPTOP, id=runner_id))
    assert [runner.id for runner in world.store.runners.list("ada")] == ids


def test_signs_of_life_are_noted(world: World) -> None:
    assert world.store.runners.register(LAPTOP)
    world.store.runners.seen(LAPTOP, now=NOW + 5)
    assert get(world) == replace(LAPTOP, seen_at=NOW + 5)
    world.store.runners.seen(LAPTOP, now=NOW + 9, ran_turn=True)
    assert get(world) == replace(LAPTOP, seen_at=NOW + 9, turn_at=NOW + 9)


def test_a_runner_that_is_gone_is_not_seen_into_existence(world: World) -> None:
    world.store.runners.seen(LAPTOP, now=NOW)
    assert world.store.runners.get("ada", "laptop") is None
    assert not world.store.runners.revoke(LAPTOP)
    assert world.store.runners.get("ada", "laptop") is None


def test_a_revoked_runner_stays_revoked(world: World) -> None:
    assert world.store.runners.register(LAPTOP)
    assert [world.store.runners.revoke(LAPTOP) for _ in range(2)] == [True, True]
    assert not world.store.runners.register(replace(LAPTOP, name="again"))
    world.store.runners.seen(LAPTOP, now=NOW + 5, ran_turn=True)
    runner = get(world)
    assert (runner.revoked, runner.name, runner.is_online(NOW + 5)) == (True, "Ada's laptop", False)
    assert list(world.store.runners.list("ada")) == [runner]


def test_a_runner_with_the_keys_only_is_read(world: World, backend: Backend) -> None:
    item = {"pk": "USER#ada", "sk": "RUNNER#laptop", "new": {"x": 1}}
    backend.tables.put(Put(Table.SESSIONS, item))
    assert get(world) == Runner("laptop", "ada", "")


def test_pointers_are_removed_one_by_one(world: World) -> None:
    first = world.machine_offer(world.on_machine())
    assert world.store.turns.end(first, now=NOW)
    world.machine_offer(world.current(), "t-2")
    assert [pointer.turn_id for pointer in world.store.runners.waiting("ada", RUNS_ON.runner)[0]] == ["t-1", "t-2"]
    for _ in range(2):
        world.store.runners.remove_pointer("ada", RUNS_ON.runner, "t-1")
    assert [pointer.turn_id for pointer in world.store.runners.waiting("ada", RUNS_ON.runner)[0]] == ["t-2"]


@pytest.mark.parametrize("runner_id", ["lap", "laptop2", "ada/laptop"])
def test_a_runner_polls_its_own_turns_only(world: World, runner_id: str) -> None:
    world.machine_offer(world.on_machine())
    assert world.store.runners.waiting("ada", runner_id)[0] == []


def test_a_pointer_with_the_keys_only_is_read(world: World, backend: Backend) -> None:
    backend.tables.put(Put(Table.SESSIONS, {"pk": "RUNNER#ada/laptop", "sk": "TURN#t-1"}))
    (pointer,) = world.store.runners.waiting("ada", "laptop")[0]
    assert (pointer.turn_id, pointer.session_id, pointer.is_kickoff) == ("t-1", "", False)
