"""Many handoffs and messages while functions die and platforms fail at random; then everything must be consistent."""

import random
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from shared.use_cases.access import id_for
from shared.use_cases.deliver import REPEATING
from tests.support.api_user import ApiUser
from tests.support.engines import ENGINES, Faulty, Setting, started
from tests.support.kill_cases import MARK
from tests.support.kill_points import AGENT, PROCESS, TURN, KillPoints, Plan
from tests.support.platform_cases import HOMES, THREADED, may_repeat
from tests.support.server_process import user_of
from tests.support.sweeping import sweeping
from tests.support.waiting import eventually

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]
WAIT_SECONDS = 240.0
COUNT = 36
MOST_KILLS = 3
FAULTS = ("rate_limit", "reset", "accept_then_reset", "server_error", "redeliver")


@pytest.fixture(params=ENGINES)
def faulty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Faulty]:
    with started(request.param, lambda: tmp_path, Setting(lease=3, turn_lease=3, strikes=10)) as running:
        yield running


@dataclass
class FaultyConversation:
    """One session: handed off, then spoken to, with kills planned for both."""

    user: ApiUser
    kill_points: KillPoints
    platform: str
    chance: random.Random
    title: str = field(default_factory=lambda: f"random {uuid.uuid4().hex[:10]}")

    def run(self) -> None:
        self.session_id = self.user.create_session(title=self.title)
        handoff_id = id_for("owner", key := uuid.uuid4().hex)
        self._plan_kills(handoff_id, [PROCESS, AGENT, TURN])
        answer = self.user.request_handoff(self.session_id, self.platform, key=key, target=HOMES[self.platform])
        assert answer.status_code == 202, answer.text
        self.end = self.user.wait_for_handoff(handoff_id, within=WAIT_SECONDS)
        if self.end["state"] != "completed":
            return
        self._plan_kills(self.end["session"]["owner"], [AGENT, TURN])
        self.texts = [f"{self.title}, text {number}" for number in range(3)]
        thread_id = self.end["session"]["owner"].rsplit(":", 1)[-1]
        for text in self.texts:
            self.user.service.simulator.say(self.platform, HOMES[self.platform], text, thread=thread_id)
        eventually(lambda: all(self._bot_texts(text) for text in self.texts), within=WAIT_SECONDS)

    def _plan_kills(self, subject: str, functions: list[str]) -> None:
        for run in range(self.chance.randrange(MOST_KILLS + 1)):
            function = self.chance.choice(functions)
            self.kill_points.plan(subject, Plan(function, at=self.chance.randrange(14), run=run))

    def check(self) -> None:
        session = self.user.session(self.session_id)
        assert session["active_handoff"] is None, self.title
        transcript = self.user.transcript(self.session_id)
        contents = [message["content"] for message in transcript]
        if self.end["state"] == "failed":  # every attempt met a fault
            assert self.end["error"]["code"] in ("platform_unavailable", "interrupted"), self.end
            assert (session["owner"], len(transcript)) == ("cli", 4), self.title
            return
        assert (session["epoch"], session["suspended"]) == (1, False), self.title
        assert [message for message in transcript if message.get("internal")] == [transcript[4]], self.title
        assert [contents.count(text) for text in self.texts] == [1, 1, 1], (self.title, contents)
        assert sorted(self.texts, key=contents.index) == self.texts, self.title
        self._check_thread(session["owner"].rsplit(":", 1)[-1])

    def _check_thread(self, thread_id: str) -> None:
        """One thread holds everything, and every repeat in it is marked."""
        threads = self.user.threads(self.title, self.platform)
        bound = [thread for thread in threads if thread["id"] == thread_id]
        assert len(bound) == 1, (self.title, threads)
        assert not [t for t in threads if t["id"] != thread_id and t["messages"]], (self.title, threads)
        assert len(threads) == 1 or may_repeat(self.platform), (self.title, threads)
        texts = self._bot_texts("")
        unmarked = [text for text in texts if MARK not in text and text != REPEATING]
        assert len(set(unmarked)) == len(unmarked), (self.title, texts)
        assert may_repeat(self.platform) or not [text for text in texts if MARK in text], (self.title, texts)
        assert [text for text in texts if "Confirmed" in text], (self.title, texts)

    def _bot_texts(self, containing: str) -> list[str]:
        found = self.user.threads(self.title, self.platform)
        messages = [message for thread in found for message in thread["messages"]]
        return [message["text"] for message in messages if message["from"] == "bot" and containing in message["text"]]


def test_random_faults_leave_every_session_in_one_place(faulty: Faulty) -> None:
    service, kill_points = faulty.service, faulty.kill_points
    seed = random.randrange(2**32)  # noqa: S311  # not for security
    chance = random.Random(seed)  # noqa: S311  # not for security
    user = user_of(service)
    for platform, chat in HOMES.items():  # loads the SDKs before the faults begin
        assert user.hand_off(user.create_session(), platform, target=chat)["state"] == "completed"
    conversations = [
        FaultyConversation(user, kill_points, chance.choice(THREADED), random.Random(chance.random()))  # noqa: S311
        for _ in range(COUNT)
    ]
    over = threading.Event()

    def arm_faults() -> None:
        for _ in range(40):
            if over.wait(chance.random()):
                break
            service.simulator.arm(chance.choice(THREADED), chance.choice(FAULTS), seconds=1)

    with sweeping(service), ThreadPoolExecutor(9) as pool:
        faults = pool.submit(arm_faults)
        try:
            list(pool.map(FaultyConversation.run, conversations))
        finally:
            over.set()
        faults.result()

    print(f"seed {seed}: {len(kill_points.killed)} kills")  # noqa: T201  # shown if it fails
    assert len(kill_points.killed) > COUNT / 3
    for conversation in conversations:
        conversation.check()
