"""Random walks of the runner, which is killed at any await. A failing seed prints its trace and how to run it alone."""

import pytest

from tests.runner_walk.walk import walk

CHUNK = 50
IN_TEST, IN_DEEP = 100, 3_000


@pytest.mark.parametrize("first", range(0, IN_TEST, CHUNK))
def test_walks_keep_all_rules(first: int) -> None:
    for seed in range(first, first + CHUNK):
        walk(seed)


@pytest.mark.tier("deep")
@pytest.mark.parametrize("first", range(IN_TEST, IN_TEST + IN_DEEP, CHUNK))
def test_many_more_walks_keep_all_rules(first: int) -> None:
    for seed in range(first, first + CHUNK):
        walk(seed)
