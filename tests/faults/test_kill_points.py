"""A function process that dies at any point: the handoff completes, the message is answered, nothing happens twice.

A sample of all points, another one in each run (its seed is pytest-randomly's); the soak takes them all.
"""

import random

from local.service import LocalService
from tests.faults.kill_points import KillPoints
from tests.faults.moved_once import CHATS, Case, all_of, learned
from tests.faults.sweeping import sweeping
from tests.journeys.desk import Desk

SAMPLE = 9


def test_a_handoff_completes_once_wherever_a_function_dies(
    fragile: LocalService, desk: Desk, kill_points: KillPoints
) -> None:
    points = random.sample(learned(desk, kill_points, list(CHATS), talk=False), SAMPLE)
    with sweeping(fragile):
        all_of([Case(desk, point) for point in points], kill_points, talk=False)


def test_a_message_is_answered_once_wherever_its_turn_dies(
    fragile: LocalService, desk: Desk, kill_points: KillPoints
) -> None:
    """Not before its first call: from there on the queue holds the message no longer than the turn's lease."""
    points = [point for point in learned(desk, kill_points, list(CHATS), talk=True) if point.plan.at > 0]
    with sweeping(fragile):
        all_of([Case(desk, point) for point in random.sample(points, SAMPLE)], kill_points, talk=True)
