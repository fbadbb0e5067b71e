"""The table of tiers: its files exist, and fast tests need no cloud."""

import re
from pathlib import Path

import pytest

from tests import tiers

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("path", [*tiers.FILES, *tiers.SERVICES])
def test_each_path_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/shared/domain/test_messages.py", ["fast"]),
        ("tests/shared/aws/test_tables.py", ["test"]),
        ("tests/cli/test_new.py", ["test"]),
        ("tests/contracts/store/test_turns.py", ["fast", "test", "deep"]),
    ],
)
def test_the_longest_path_decides(path: str, expected: list[str]) -> None:
    assert tiers.tiers_of_file(path) == expected


def test_make_test_runs_the_fast_tests_too_and_deep_does_not() -> None:
    path = "tests/shared/domain/test_messages.py"
    assert [target for target in tiers.RUNS if tiers.is_collected(path, target)] == ["fast", "test"]


def test_a_fast_file_starts_no_program_and_no_platform() -> None:
    fast = [
        path
        for path in ROOT.glob("tests/**/test_*.py")
        if tiers.tiers_of_file(str(path.relative_to(ROOT)))[0] == "fast"
    ]
    needs = re.compile(r"^import subprocess|import Simulator|\bsimulator: ", re.MULTILINE)
    assert [
        str(path.relative_to(ROOT)) for path in fast if path != Path(__file__) and needs.search(path.read_text())
    ] == []


def test_a_fast_test_needs_no_cloud(request: pytest.FixtureRequest) -> None:
    items = request.session.items
    cloud = [item for item in items if "engine" in getattr(item, "fixturenames", ())]
    assert [item.nodeid for item in cloud if tiers.tier_of(item, item.nodeid.partition("::")[0]) == "fast"] == []
