"""Retries of a write whose optimistic lock failed."""

import pytest

from shared.errors import Conflict
from shared.use_cases import retry


def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of one run whose attempts all fail."""
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)

    def attempt() -> None:
        raise Conflict("changed since it was read")

    with pytest.raises(Conflict):
        retry.on_conflict(attempt)
    return slept


def test_competing_writers_pause_for_different_times(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = pauses(monkeypatch), pauses(monkeypatch)
    assert len(first) == len(second) == retry.TRIES - 2
    assert set(first).isdisjoint(second)
    assert max(first + second) <= retry.LONGEST_PAUSE
