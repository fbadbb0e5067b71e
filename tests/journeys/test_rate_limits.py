"""A platform that asks to wait is waited for, and not a minute longer."""

import uuid

from tests.support.desk import Desk


def test_a_short_rate_limit_while_opening_the_thread_delays_the_handoff_by_little_more_than_that(desk: Desk) -> None:
    title = f"limit {uuid.uuid4().hex[:6]}"
    session_id = desk.session(title=title)
    desk.service.simulator.arm("telegram", "rate_limit", 1, seconds=2, on="open_thread")

    done = desk.hand_over(session_id)

    assert (done["state"], done["error"], done["attempt"]) == ("completed", None, 0)
    (thread,) = desk.threads(title)
    assert len(thread["messages"]) == 1
