"""A handoff or a chat message whose function is killed at one point, and what must hold in the end."""

import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from shared.use_cases.access import id_for
from shared.use_cases.turns.deliver import REPEAT_MARK
from tests.support.api_user import ApiUser
from tests.support.kill_points import KillPoints, Plan
from tests.support.platform_cases import HOMES, may_repeat
from tests.support.waiting import eventually

MARK = REPEAT_MARK.strip()
SHORT_LEASES = {"LeaseSeconds": "2", "TurnLeaseSeconds": "2"}
WAIT_SECONDS = 60.0
CONCURRENT = 6
QUESTION = "And now?"


@dataclass(frozen=True)
class Point:
    """Where a function is killed: before the call `name`, after the call `after`."""

    platform: str
    plan: Plan
    name: str
    after: str

    def __str__(self) -> str:
        return f"{self.platform}: {self.plan.function} before call {self.plan.at} ({self.name})"


def points_of(platform: str, function: str, calls: Sequence[str]) -> list[Point]:
    """All points of one run, given the calls of a run without faults."""
    before = ["nothing", *calls]
    return [Point(platform, Plan(function, at), name, before[at]) for at, name in enumerate(calls)]


@dataclass
class KillCase:
    """One new session. Call `hand_off` and `check_handoff`, or `talk` and `check_talk`."""

    user: ApiUser
    point: Point
    title: str = field(default_factory=lambda: f"case {uuid.uuid4().hex[:10]}")

    def hand_off(self, kill_points: KillPoints) -> None:
        """Returns when the handoff, whose function was killed, is done."""
        platform, key = self.point.platform, uuid.uuid4().hex
        self.session_id = self.user.create_session(title=self.title)
        kill_points.plan(id_for("owner", key), self.point.plan)
        answer = self.user.request_handoff(self.session_id, platform, key=key, target=HOMES[platform])
        assert answer.status_code == 202, answer.text
        self.handoff_id = answer.json()["id"]
        self.user.wait_for_handoff(self.handoff_id, within=WAIT_SECONDS)
        assert kill_points.killed.get(self.handoff_id) == self.point.name, f"not killed at {self.point}"

    def check_handoff(self) -> None:
        """Exactly one thread, one confirmation and one move."""
        view, session = self.user.handoff(self.handoff_id), self.user.session(self.session_id)
        assert (view["state"], view["error"]) == ("completed", None), self.point
        assert (session["epoch"], session["active_handoff"], session["turn_running"]) == (1, None, False), self.point
        bound, orphans = self._threads(session["owner"])
        self._check_orphans(orphans)
        self._check_bot_texts(bound, "Confirmed")
        transcript = self.user.transcript(self.session_id)
        assert [m["content"] for m in transcript[:4]] == [f"message {number}" for number in range(4)], self.point
        assert [m.get("internal", False) for m in transcript[4:]] == [True, False], self.point
        assert transcript[5]["role"] == "assistant", self.point

    def talk(self, kill_points: KillPoints) -> None:
        """Returns when a message in the thread, whose turn was killed, is answered."""
        platform = self.point.platform
        self.session_id = self.user.create_session(title=self.title)
        done = self.user.hand_off(self.session_id, platform, target=HOMES[platform])
        assert done["state"] == "completed", done
        self.route = done["session"]["owner"]
        kill_points.plan(self.route, self.point.plan)
        (thread,) = self.user.threads(self.title, platform)
        self.user.service.simulator.say(platform, thread["chat"], QUESTION, thread=thread["id"])
        eventually(lambda: kill_points.killed.get(self.route) and self._answers(), within=WAIT_SECONDS)

    def check_talk(self) -> None:
        """Answered exactly once, in the transcript and in the thread."""
        transcript = self.user.transcript(self.session_id)
        assert [m["content"] for m in transcript].count(QUESTION) == 1, self.point
        assert [m["role"] for m in transcript[6:]] == ["user", "assistant"], self.point
        session = self.user.session(self.session_id)
        assert (session["epoch"], session["turn_running"], session["suspended"]) == (1, False, False), self.point
        (thread,) = self.user.threads(self.title, self.point.platform)
        self._check_bot_texts(thread, QUESTION)

    def _answers(self) -> list[str]:
        return [
            message["text"]
            for thread in self.user.threads(self.title, self.point.platform)
            for message in thread["messages"]
            if message["from"] == "bot" and QUESTION in message["text"]
        ]

    def _threads(self, owner: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        found = self.user.threads(self.title, self.point.platform)
        bound = [thread for thread in found if owner.rsplit(":", 1)[-1] == thread["id"]]
        assert len(bound) == 1, (self.point, owner, found)
        return bound[0], [thread for thread in found if thread is not bound[0]]

    def _check_orphans(self, orphans: list[dict[str, Any]]) -> None:
        """One thread is lost if the function dies after opening it and the platform offers no way to find it again."""
        may_be_lost = may_repeat(self.point.platform) and self.point.after == f"{self.point.platform}.open_thread"
        assert len(orphans) <= may_be_lost, self.point
        assert not any(thread["messages"] for thread in orphans), self.point

    def _check_bot_texts(self, thread: dict[str, Any], text: str) -> None:
        """Sent once; where the platform may have accepted it before, sent again with the mark of a repeat."""
        texts = [m["text"] for m in thread["messages"] if m["from"] == "bot" and text in m["text"]]
        send = f"{self.point.platform}.send" if may_repeat(self.point.platform) else None
        first, *again = texts
        assert MARK not in first or self.point.name == send, self.point
        assert len(again) <= (self.point.after == send), (self.point, texts)
        assert all(MARK in text for text in again), self.point


def run_cases(cases: Sequence[KillCase], kill_points: KillPoints, *, talk: bool) -> None:
    """Run the cases concurrently and check all of them at the end, when late duplicates would show.

    Cases that kill `process` run alone: the function's other records of the same batch would be killed too.
    """
    alone = [case for case in cases if case.point.plan.function == "ProcessFunction"]
    for case in alone:
        case.hand_off(kill_points)
    with ThreadPoolExecutor(CONCURRENT) as pool:
        others = [case for case in cases if case not in alone]
        list(pool.map(lambda case: case.talk(kill_points) if talk else case.hand_off(kill_points), others))
    for case in cases:
        if talk:
            case.check_talk()
        else:
            case.check_handoff()


def find_points(user: ApiUser, kill_points: KillPoints, platforms: Sequence[str], *, talk: bool) -> list[Point]:
    """Every point, from one run on each platform without faults."""
    found: list[Point] = []
    for platform in platforms:
        session_id = user.create_session(title=(title := f"calm {uuid.uuid4().hex[:10]}"))
        done = user.hand_off(session_id, platform, target=HOMES[platform])
        assert done["state"] == "completed", done
        subject, functions = done["id"], ["ProcessFunction", "TurnFunction"]
        if talk:
            (thread,) = user.threads(title, platform)
            user.service.simulator.say(platform, thread["chat"], QUESTION, thread=thread["id"])
            subject, functions = done["session"]["owner"], ["TurnFunction"]
        for function in functions:
            runs = kill_points.runs[subject, function]
            calls = eventually(lambda runs=runs: _finished(runs))  # type: ignore[misc]  # bound in this round
            found += points_of(platform, function, calls)
    return found


def _finished(runs: list[list[str]]) -> list[str]:
    """The calls of the first run once it has returned."""
    return list(runs[0]) if runs and runs[0][-1:] == ["return"] else []
