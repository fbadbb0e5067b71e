"""Many handoffs and messages at once: none lost, none twice, none out of order, and no message is received in vain."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from local.functions import Interceptors
from local.service import LocalService
from shared.bootstrap import Handler
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.waiting import eventually

HANDOFFS = 100
BURST = 30
SLOW = "rehearse: slow 3"
WAIT_SECONDS = 120.0


class Receives:
    """How often each message of the Turns queue was received."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()

    def watch(self, function: str, handler: Handler) -> Handler:
        def handle(event: Any, context: Any) -> Any:
            with self._lock:
                self.counts.update(record["messageId"] for record in event["Records"])
            return handler(event, context)

        return handle if function == "TurnFunction" else handler


@pytest.fixture(scope="module")
def receives() -> Receives:
    return Receives()


@pytest.fixture(scope="module")
def service(receives: Receives) -> Iterator[LocalService]:
    with LocalService(mode="in_process", interceptors=Interceptors(handler=receives.watch)) as running:
        yield running


def test_messages_for_a_busy_session_are_received_once(user: ApiUser, receives: Receives) -> None:
    """Nothing polls: each message ends at once, and the end of each turn wakes the place."""
    thread = ChatThread(user)
    words = [f"word {number:02}" for number in range(BURST)]
    receives.counts.clear()

    thread.say(SLOW)
    eventually(lambda: thread.session()["turn_running"])
    for text in words:
        thread.say(text)
    thread.wait_for(words[-1], within=WAIT_SECONDS)

    asked = [message["content"] for message in user.transcript(thread.session_id)[6:] if message["role"] == "user"]
    replies = [message for message in user.transcript(thread.session_id)[6:] if message["role"] == "assistant"]
    assert asked == [SLOW, *words]
    expected = len(asked) + len(replies)  # one for each message, and one for each turn
    eventually(lambda: receives.counts.total() >= expected)
    assert (receives.counts.total(), set(receives.counts.values())) == (expected, {1})
    assert len(replies) == len(thread.replies())


@pytest.mark.timeout(300)  # on a loaded machine
def test_a_hundred_handoffs_at_once_all_complete(user: ApiUser, receives: Receives) -> None:
    title = "a hundred at once"
    sessions = [user.create_session(title=f"{title} {number}") for number in range(HANDOFFS)]
    receives.counts.clear()

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(user.request_handoff, sessions))
    states = [user.wait_for_handoff(answer.json()["id"], within=WAIT_SECONDS)["state"] for answer in answers]

    assert Counter(states) == {"completed": HANDOFFS}
    threads = user.threads(title)
    assert len(threads) == len({thread["title"] for thread in threads}) == HANDOFFS
    assert {len(thread["messages"]) for thread in threads} == {1}
    assert {user.session(session_id)["message_count"] for session_id in sessions} == {6}
    assert (receives.counts.total(), set(receives.counts.values())) == (HANDOFFS, {1})
