"""A function process that dies at any point: the handoff completes, the message is answered, nothing happens twice.

A sample of all points, another one in each run (its seed is pytest-randomly's); the soak takes them all.
"""

import random
import uuid

from local.service import LocalService
from tests.faults.kill_points import KillPoints, Plan
from tests.faults.moved_once import CHATS, Case, all_of, learned
from tests.support.desk import Desk, until
from tests.support.sweeping import sweeping

SAMPLE = 9
POINTS = 4  # of a webhook: who is it, write it down, wake a turn, answer


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


def test_a_message_is_answered_once_wherever_its_webhook_dies(desk: Desk, kill_points: KillPoints) -> None:
    """Nobody answered the platform, so it (on Discord our relay) sends the message again."""
    for platform, chat in CHATS.items():
        session_id = desk.session(title=(title := f"webhook {uuid.uuid4().hex[:8]}"))
        desk.hand_over(session_id, platform, target=chat)
        (thread,) = desk.threads(title, platform)
        for at in range(POINTS):
            kill_points.plan(words := uuid.uuid4().hex, Plan("WebhookFunction", at))
            desk.service.simulator.say(platform, chat, words, thread=thread["id"])
            until(lambda: desk.see(session_id)["message_count"] == 8 + 2 * at, 60)  # noqa: B023  # looked at now

            assert words in kill_points.deaths
        said = [message["content"] for message in desk.transcript(session_id) if message["role"] == "user"]
        assert len(set(said)) == len(said) == 2 + 1 + POINTS
