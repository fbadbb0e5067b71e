"""Real races: twenty-four threads at one moment, exactly one winner. The long form is in tests/soak."""

import pytest

from tests.contracts.store.races import RACES
from tests.contracts.store.world import World


@pytest.mark.parametrize("name", RACES)
def test_many_threads_at_one_moment_have_one_winner(world: World, name: str) -> None:
    RACES[name](world)
