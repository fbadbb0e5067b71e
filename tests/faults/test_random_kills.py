"""The program dies at random moments, by SIGKILL or because the power is cut, and is started again: nothing is lost.

HANDOFF_SEED repeats the choices of a run that failed; the moments differ from run to run.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.chats.simulator import Simulator
from tests.support.supervised_server import SupervisedServer, cut_power
from tests.support.under_fire import Load, under_fire

SHORT = Load(handoffs=6, messages=6, moves=3, deaths=3)
LONG = Load(handoffs=40, messages=40, moves=20, deaths=12)
MANY_STRIKES = "1000"
"""A turn is not given up, however often it is hit."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SupervisedServer]:
    with Simulator() as chats, SupervisedServer(tmp_path, chats, HANDOFF_STRIKES=MANY_STRIKES).running() as running:
        yield running


@pytest.fixture
def seed() -> int:
    return int(os.environ.get("HANDOFF_SEED") or random.randrange(2**32))  # noqa: S311  # not for security


def test_killed_at_any_moment_all_is_done_once(server: SupervisedServer, seed: int) -> None:
    under_fire(server, SHORT, seed=seed)


def test_after_a_power_cut_all_is_done_once(server: SupervisedServer, tmp_path: Path, seed: int) -> None:
    """The disk has only what was flushed, or some more: each answer and each message in a chat is still true."""
    under_fire(server, SHORT, seed=seed, on_death=lambda chance: f"{cut_power(tmp_path, chance)} bytes lost")


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("power", ["stays", "is cut"])
def test_forty_handoffs_and_forty_messages_survive(
    server: SupervisedServer, tmp_path: Path, seed: int, power: str
) -> None:
    cut = (
        (lambda chance: f"{cut_power(tmp_path, chance)} bytes lost") if power == "is cut" else (lambda _: "power stays")
    )
    under_fire(server, LONG, seed=seed, on_death=cut)
