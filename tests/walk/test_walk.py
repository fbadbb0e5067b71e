"""Thousands of random walks over the turn protocol. A failing seed prints its trace and how to run it alone."""

from collections.abc import Iterator

import pytest

from tests.walk.actors import Actor, Workers
from tests.walk.invariants import Invariants
from tests.walk.runner import Violation
from tests.walk.walk import Failure, Walk

WALKS = {"": 1_050, "with_machine": 800, "with_orders": 300, "with_choices": 300, "with_files": 200, "with_sends": 200}
"""How many seeds `make test` walks, from 0 on, by what they have beside the turns of the deployment's agent."""
CHUNK = 50
SOAK_WALKS = 120_000
SOAK_CHUNK = 5_000


@pytest.fixture
def workers() -> Iterator[Workers]:
    with Workers() as workers:
        yield workers


@pytest.mark.parametrize(
    ("kind", "first"), [(kind, first) for kind, seeds in WALKS.items() for first in range(0, seeds, CHUNK)]
)
def test_walks_keep_all_rules_and_drain(workers: Workers, kind: str, first: int) -> None:
    for seed in range(first, first + CHUNK):
        Walk(seed, workers, **{kind: True} if kind else {}).run()


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(0, SOAK_WALKS, SOAK_CHUNK))
@pytest.mark.parametrize("kind", WALKS)
def test_many_more_walks_keep_all_rules_and_drain(workers: Workers, kind: str, first: int) -> None:
    for seed in range(first, first + SOAK_CHUNK):
        Walk(seed, workers, **{kind: True} if kind else {}).run()


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
