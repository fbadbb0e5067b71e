"""Thousands of random walks over the turn protocol. A failing seed prints its trace and how to run it alone."""

from collections.abc import Iterator

import pytest

from tests.walk.actors import Actor, Workers
from tests.walk.invariants import Invariants
from tests.walk.runner import Violation
from tests.walk.walk import Failure, Walk

CHUNK = 150
CHUNKS = 14
MACHINE_CHUNK = 100
MACHINE_CHUNKS = 16
ORDER_CHUNKS = 6
FILE_CHUNKS = 4
SEND_CHUNK = 100
SEND_CHUNKS = 2
CHOICE_CHUNK = 100
CHOICE_CHUNKS = 5
SOAK_CHUNK = 5_000
SOAK_CHUNKS = 24


@pytest.fixture
def workers() -> Iterator[Workers]:
    with Workers() as workers:
        yield workers


@pytest.mark.parametrize("first", range(0, CHUNKS * CHUNK, CHUNK))
def test_walks_keep_all_rules_and_drain(workers: Workers, first: int) -> None:
    for seed in range(first, first + CHUNK):
        Walk(seed, workers).run()


@pytest.mark.parametrize("first", range(0, MACHINE_CHUNKS * MACHINE_CHUNK, MACHINE_CHUNK))
def test_walks_with_a_machine_keep_all_rules_and_drain(workers: Workers, first: int) -> None:
    for seed in range(first, first + MACHINE_CHUNK):
        Walk(seed, workers, with_machine=True).run()


@pytest.mark.parametrize("first", range(0, ORDER_CHUNKS * MACHINE_CHUNK, MACHINE_CHUNK))
def test_walks_with_orders_keep_all_rules_and_drain(workers: Workers, first: int) -> None:
    for seed in range(first, first + MACHINE_CHUNK):
        Walk(seed, workers, with_orders=True).run()


@pytest.mark.parametrize("first", range(0, CHOICE_CHUNKS * CHOICE_CHUNK, CHOICE_CHUNK))
def test_walks_with_choices_keep_all_rules_and_drain(workers: Workers, first: int) -> None:
    for seed in range(first, first + CHOICE_CHUNK):
        Walk(seed, workers, with_choices=True).run()


@pytest.mark.parametrize("first", range(0, FILE_CHUNKS * MACHINE_CHUNK, MACHINE_CHUNK))
def test_walks_with_files_keep_all_rules_and_drain(workers: Workers, first: int) -> None:
    for seed in range(first, first + MACHINE_CHUNK):
        Walk(seed, workers, with_files=True).run()


@pytest.mark.parametrize("first", range(0, SEND_CHUNKS * SEND_CHUNK, SEND_CHUNK))
def test_walks_with_files_of_the_agent_keep_all_rules_and_drain(workers: Workers, first: int) -> None:
    for seed in range(first, first + SEND_CHUNK):
        Walk(seed, workers, with_sends=True).run()


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(CHUNKS * CHUNK, CHUNKS * CHUNK + SOAK_CHUNKS * SOAK_CHUNK, SOAK_CHUNK))
def test_many_more_walks_keep_all_rules_and_drain(workers: Workers, first: int) -> None:
    for seed in range(first, first + SOAK_CHUNK):
        Walk(seed, workers).run()


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "first",
    range(MACHINE_CHUNKS * MACHINE_CHUNK, MACHINE_CHUNKS * MACHINE_CHUNK + SOAK_CHUNKS * SOAK_CHUNK, SOAK_CHUNK),
)
def test_many_more_walks_with_a_machine_keep_all_rules_and_drain(workers: Workers, first: int) -> None:
    for seed in range(first, first + SOAK_CHUNK):
        Walk(seed, workers, with_machine=True).run()


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "first",
    range(ORDER_CHUNKS * MACHINE_CHUNK, ORDER_CHUNKS * MACHINE_CHUNK + SOAK_CHUNKS * SOAK_CHUNK, SOAK_CHUNK),
)
def test_many_more_walks_with_orders_keep_all_rules_and_drain(workers: Workers, first: int) -> None:
    for seed in range(first, first + SOAK_CHUNK):
        Walk(seed, workers, with_orders=True).run()


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "first",
    range(FILE_CHUNKS * MACHINE_CHUNK, FILE_CHUNKS * MACHINE_CHUNK + SOAK_CHUNKS * SOAK_CHUNK, SOAK_CHUNK),
)
def test_many_more_walks_with_files_keep_all_rules_and_drain(workers: Workers, first: int) -> None:
    for seed in range(first, first + SOAK_CHUNK):
        Walk(seed, workers, with_files=True).run()


@pytest.mark.parametrize(("seed", "with_machine"), [(58449, False), (23931, True)])
def test_words_in_a_thread_that_is_not_bound_yet_do_not_block_it_for_long(
    workers: Workers, seed: int, *, with_machine: bool
) -> None:
    """The process dies after it has opened the thread, and a person writes there before another one goes on."""
    Walk(seed, workers, with_machine=with_machine).run()


@pytest.mark.parametrize("with_machine", [False, True])
def test_a_seed_always_leads_to_the_same_walk(workers: Workers, with_machine: bool) -> None:
    first, again = (Walk(7, workers, with_machine=with_machine) for _ in range(2))
    first.run()
    again.run()

    assert first.trace.lines() == again.trace.lines()


@pytest.mark.parametrize(("with_machine", "arguments"), [(False, "7"), (True, "7 machine")])
def test_a_failing_seed_prints_its_trace_and_how_to_run_it(
    workers: Workers, monkeypatch: pytest.MonkeyPatch, with_machine: bool, arguments: str
) -> None:
    def break_rule(_: Invariants, __: Actor, *___: object) -> None:
        raise Violation("an invented rule")

    monkeypatch.setattr(Invariants, "_claimed", break_rule)
    walk = Walk(7, workers, with_machine=with_machine)

    with pytest.raises(Failure) as failed:
        walk.run()

    text = str(failed.value)
    assert failed.value.reason == "an invented rule"
    assert f"alone: python -m tests.walk.walk {arguments}" in text.splitlines()[1]
    assert walk.trace.lines()
    assert all(line in text for line in walk.trace.lines())
