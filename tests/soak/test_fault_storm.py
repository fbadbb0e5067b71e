"""A storm: many handoffs and messages, functions that die again and again, platforms that fail; and then it is quiet."""

import random
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from local.service import LocalService
from shared.use_cases.access import id_for
from shared.use_cases.turns.deliver import REPEATING
from tests.faults.kill_points import KillPoints, Plan
from tests.faults.moved_once import CHATS, MARK
from tests.support.desk import Desk, until
from tests.support.sweeping import sweeping

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]
PATIENCE = 240.0
COUNT = 36
DEATHS = 3
FAULTS = ("rate_limit", "reset", "accept_then_reset", "server_error", "redeliver")


@pytest.fixture
def weather() -> KillPoints:
    return KillPoints()


@pytest.fixture
def stormy(weather: KillPoints) -> Iterator[LocalService]:
    parameters = {"LeaseSeconds": "3", "TurnLeaseSeconds": "3", "Strikes": "10"}
    with LocalService(mode="in_process", parameters=parameters, interceptors=weather.between) as running:
        url = running.stack.outputs["TurnsQueueUrl"]
        running.engine.client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "4"})
        yield running


@dataclass
class Voyage:
    """One session: handed over, then spoken to, with deaths planned for both."""

    desk: Desk
    weather: KillPoints
    platform: str
    luck: random.Random
    title: str = field(default_factory=lambda: f"storm {uuid.uuid4().hex[:10]}")

    def sail(self) -> None:
        self.session_id = self.desk.session(title=self.title)
        handoff_id = id_for("owner", key := uuid.uuid4().hex)
        self._plan_deaths(handoff_id, ["ProcessFunction", "TurnFunction"])
        answer = self.desk.request(self.session_id, self.platform, key=key, target=CHATS[self.platform])
        assert answer.status_code == 202, answer.text
        until(lambda: self.desk.handoff(handoff_id)["done"], PATIENCE)
        self.end = self.desk.handoff(handoff_id)
        if self.end["state"] != "completed":
            return
        self._plan_deaths(self.end["session"]["owner"], ["TurnFunction"])
        self.words = [f"{self.title}, word {number}" for number in range(3)]
        thread_id = self.end["session"]["owner"].rsplit(":", 1)[-1]
        for words in self.words:
            self.desk.service.simulator.say(self.platform, CHATS[self.platform], words, thread=thread_id)
        until(lambda: all(self._heard(words) for words in self.words), PATIENCE)

    def _plan_deaths(self, subject: str, functions: list[str]) -> None:
        for run in range(self.luck.randrange(DEATHS + 1)):
            function = self.luck.choice(functions)
            self.weather.plan(subject, Plan(function, at=self.luck.randrange(14), run=run))

    def check(self) -> None:
        session = self.desk.see(self.session_id)
        assert session["active_handoff"] is None, self.title
        transcript = self.desk.transcript(self.session_id)
        contents = [message["content"] for message in transcript]
        if self.end["state"] == "failed":  # every attempt met a fault of its own
            assert self.end["error"]["code"] in ("platform_unavailable", "interrupted"), self.end
            assert (session["owner"], len(transcript)) == ("cli", 4), self.title
            return
        assert (session["epoch"], session["suspended"]) == (1, False), self.title
        assert [message for message in transcript if message.get("internal")] == [transcript[4]], self.title
        assert [contents.count(words) for words in self.words] == [1, 1, 1], (self.title, contents)
        assert sorted(self.words, key=contents.index) == self.words, self.title
        self._check_thread(session["owner"].rsplit(":", 1)[-1])

    def _check_thread(self, thread_id: str) -> None:
        """One thread has all of it, and nothing in it is there twice without saying so."""
        threads = self.desk.threads(self.title, self.platform)
        lived_in = [thread for thread in threads if thread["id"] == thread_id]
        assert len(lived_in) == 1, (self.title, threads)
        assert not [t for t in threads if t["id"] != thread_id and t["messages"]], (self.title, threads)
        assert len(threads) == 1 or self.platform == "telegram", (self.title, threads)
        said = [message["text"] for message in lived_in[0]["messages"] if message["from"] == "bot"]
        unmarked = [text for text in said if MARK not in text and text != REPEATING]
        assert len(set(unmarked)) == len(unmarked), (self.title, said)
        assert self.platform == "telegram" or not [text for text in said if MARK in text], (self.title, said)
        assert [text for text in said if "Confirmed" in text], (self.title, said)

    def _heard(self, words: str) -> list[dict[str, Any]]:
        found = self.desk.threads(self.title, self.platform)
        said = [message for thread in found for message in thread["messages"]]
        return [message for message in said if message["from"] == "bot" and words in message["text"]]


def test_after_a_storm_every_session_lives_in_one_place_with_every_word_once(
    stormy: LocalService, weather: KillPoints
) -> None:
    seed = random.randrange(2**32)  # noqa: S311  # dice, no secret
    luck = random.Random(seed)  # noqa: S311  # likewise
    desk = Desk(stormy)
    for platform, chat in CHATS.items():  # the SDKs are loaded in fair weather
        assert desk.hand_over(desk.session(), platform, target=chat)["state"] == "completed"
    voyages = [Voyage(desk, weather, luck.choice(list(CHATS)), random.Random(luck.random())) for _ in range(COUNT)]  # noqa: S311  # likewise

    def blow() -> None:
        for _ in range(40):
            stormy.simulator.arm(luck.choice(list(CHATS)), luck.choice(FAULTS), seconds=1)
            time.sleep(luck.random())  # the storm's own rhythm

    with sweeping(stormy), ThreadPoolExecutor(9) as pool:
        wind = pool.submit(blow)
        list(pool.map(Voyage.sail, voyages))
        wind.result()

    print(f"seed {seed}: {len(weather.deaths)} deaths")  # noqa: T201  # shown if it fails
    assert len(weather.deaths) > COUNT / 3
    for voyage in voyages:
        voyage.check()
