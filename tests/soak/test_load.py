"""A steady load on one machine: nothing is lost, and the figures are printed for docs/scale.md."""

import os
import sys
from pathlib import Path

import pytest

from bench.figures import machine
from bench.load import Asked, play

SHORT = Asked(people=6, rate=3, seconds=8, agent=1)


@pytest.mark.soak
@pytest.mark.timeout(1500)
def test_fifty_people_talk_for_ten_minutes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = play(Asked(), tmp_path)
    with capsys.disabled():
        sys.stdout.write(f"\n{machine()}, load average {os.getloadavg()[1]:.1f}: {outcome}\n")
    assert (outcome.said, outcome.lost) == (3_000, [])


@pytest.mark.tier("deep")
def test_six_people_talk_for_a_moment(tmp_path: Path) -> None:
    outcome = play(SHORT, tmp_path)
    assert (outcome.said, outcome.lost) == (24, [])
    assert SHORT.agent <= outcome.middle <= outcome.slowest <= outcome.longest < 60
    assert outcome.megabytes > 20
