"""Random sequences of transitions against what must always hold. The long form is in tests/soak."""

import random
from collections import Counter

import pytest

from shared.store.bundle import Store
from tests.contracts.store.model import Model
from tests.support.table_backends import Backend

STEPS = 70


@pytest.mark.parametrize("seed", [20])
def test_random_sequences_of_transitions_keep_what_must_hold(store: Store, backend: Backend, seed: int) -> None:
    model = Model(store, backend.scan, random.Random(seed))  # noqa: S311  # the same on every run
    for _ in range(STEPS):
        model.step()
    done = Counter(line.split(" -> ")[0] for line in model.trace)
    assert len(done) > 10, "a sequence that does little shows little"
