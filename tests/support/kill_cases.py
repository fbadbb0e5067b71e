"""A handoff or a chat message whose function is killed at one point, and what must hold in the end."""

import base64
import hashlib
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from shared.use_cases.access import id_for
from shared.use_cases.deliver import REPEAT_MARK
from shared.use_cases.files import fetch_files, wait_for_files
from tests.support.api_user import ApiUser
from tests.support.kill_points import AGENT, PROCESS, TURN, KillPoints, Plan, files_of
from tests.support.platform_cases import HOMES, THREADED, marks_repeats, may_repeat
from tests.support.waiting import eventually, on_this_machine

MARK = REPEAT_MARK.strip()
LEASE_SECONDS = 2
HIDDEN_TURN, HIDDEN_RUN = 4, 3600
"""Seconds for which the message of killed work stays hidden: one of a place shortly, to save time, a run for an hour."""
COMMAND_SECONDS = 5.0
WAIT_SECONDS = 60.0
CONCURRENT = 6
QUESTION = "And now?"


class Patch(Protocol):
    """pytest's MonkeyPatch."""

    def setattr(self, target: Any, name: str, value: Any, /) -> None: ...


class Kills(Protocol):
    """Where work is to be killed, and where it was, by subject. Work of the functions in `alone` takes other work with it."""

    @property
    def alone(self) -> Sequence[str]: ...

    @property
    def killed(self) -> Mapping[str, str]: ...

    def plan(self, subject: str, plan: Plan) -> None: ...
    def forget(self, subject: str) -> None: ...
    def is_repeated(self, subject: str, function: str, /) -> bool: ...


@dataclass(frozen=True)
class Point:
    """Where a function is killed: before the call `name`, after the call `after`."""

    platform: str
    plan: Plan
    name: str
    after: str
    reads_files: bool = False
    """Whether the function reads the files of a message, or waits for them."""

    def __str__(self) -> str:
        return f"{self.platform}: {self.plan.function}, run {self.plan.run}, before call {self.plan.at} ({self.name})"


def points_of(platform: str, function: str, run: int, calls: Sequence[str]) -> list[Point]:
    """All points of a function's run number `run`, given the calls of one without faults."""
    before = ["nothing", *calls]
    return [Point(platform, Plan(function, at, run), name, before[at]) for at, name in enumerate(calls)]


@dataclass
class KillCase:
    """One new session. Call `hand_off` and `check_handoff`, or `talk` and `check_talk`.

    `hits_all`: the whole process dies, so what its other threads do for this session is hit as well, at any point.
    """

    user: ApiUser
    point: Point
    command_seconds: float = COMMAND_SECONDS
    hits_all: bool = False
    title: str = field(default_factory=lambda: f"case {uuid.uuid4().hex[:10]}")

    def hand_off(self, kill_points: Kills) -> None:
        """Returns when the handoff, whose function was killed, is done."""
        platform, key = self.point.platform, uuid.uuid4().hex
        self.session_id = self.user.create_session(title=self.title)
        kill_points.plan(id_for("owner", key), self.point.plan)
        answer = self.user.request_handoff(self.session_id, platform, key=key, target=HOMES[platform])
        assert answer.status_code == 202, answer.text
        self.handoff_id = answer.json()["id"]
        if self.point.plan.function != PROCESS:
            self._command_while_dead(kill_points, self.handoff_id)
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

    def talk(self, kill_points: Kills) -> None:
        """Returns when a message in the thread, whose turn was killed, is answered, and a killed delivery was repeated."""
        platform = self.point.platform
        self.session_id = self.user.create_session(title=self.title)
        done = self.user.hand_off(self.session_id, platform, target=HOMES[platform])
        assert done["state"] == "completed", done
        self.route = done["session"]["owner"]
        kill_points.forget(self.route)
        kill_points.plan(self.route, self.point.plan)
        self._say(QUESTION)
        self._command_while_dead(kill_points, self.route)
        eventually(self._answers, within=WAIT_SECONDS)
        if self.point.plan.function == TURN and self.point.name != "return":
            eventually(lambda: kill_points.is_repeated(self.route, TURN), within=WAIT_SECONDS, show=lambda: self.point)

    def check_talk(self) -> None:
        """Answered exactly once, in the transcript and in the thread."""
        transcript = self.user.transcript(self.session_id)
        assert [m["content"] for m in transcript].count(QUESTION) == 1, self.point
        assert [m["role"] for m in transcript[6:]] == ["user", "assistant"], self.point
        session = self.user.session(self.session_id)
        assert (session["epoch"], session["turn_running"], session["suspended"]) == (1, False, False), self.point
        (thread,) = self.user.threads(self.title, self.point.platform)
        self._check_bot_texts(thread, QUESTION)

    def _command_while_dead(self, kill_points: Kills, subject: str) -> None:
        """A command in the thread does not wait for the function that was killed.

        If the whole process died the person asks again: Discord drops a command while no process is connected, and says so.
        """
        eventually(lambda: subject in kill_points.killed, within=WAIT_SECONDS)
        seconds = on_this_machine(self.command_seconds)
        if self.hits_all:
            eventually(lambda: self._status(within=COMMAND_SECONDS), within=seconds, show=lambda: self.point)
        else:
            self._status(within=seconds)

    def _status(self, *, within: float) -> list[str]:
        self._say("/status")
        return eventually(lambda: self._bot_texts("lives here"), within=within, show=lambda: self.point)

    def _say(self, text: str) -> None:
        platform, thread = self.point.platform, self.user.session(self.session_id)["owner"].rsplit(":", 1)[-1]
        self.user.service.simulator.say(platform, HOMES[platform], text, thread=thread)

    def _answers(self) -> list[str]:
        return self._bot_texts(QUESTION)

    def _bot_texts(self, containing: str) -> list[str]:
        return [
            message["text"]
            for thread in self.user.threads(self.title, self.point.platform)
            for message in thread["messages"]
            if message["from"] == "bot" and containing in message["text"]
        ]

    def _threads(self, owner: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        found = self.user.threads(self.title, self.point.platform)
        bound = [thread for thread in found if owner.rsplit(":", 1)[-1] == thread["id"]]
        assert len(bound) == 1, (self.point, owner, found)
        return bound[0], [thread for thread in found if thread is not bound[0]]

    def _check_orphans(self, orphans: list[dict[str, Any]]) -> None:
        """One thread is lost if the function dies after opening it and the platform offers no way to find it again."""
        has_opened = self.hits_all or self.point.after == f"{self.point.platform}.open_thread"
        assert len(orphans) <= (may_repeat(self.point.platform) and has_opened), self.point
        assert not any(thread["messages"] for thread in orphans), self.point

    def _check_bot_texts(self, thread: dict[str, Any], text: str) -> None:
        """Sent once; where the platform may have accepted it before, sent again with the mark of a repeat."""
        texts = [m["text"] for m in thread["messages"] if m["from"] == "bot" and text in m["text"]]
        send = f"{self.point.platform}.send"
        first, *again = texts
        may_be_marked = marks_repeats(self.point.platform) and (self.point.name == send or self.hits_all)
        may_be_double = may_repeat(self.point.platform) and (self.point.after == send or self.hits_all)
        assert MARK not in first or may_be_marked, self.point
        assert len(again) <= may_be_double, (self.point, texts)
        assert all(MARK in text for text in again), self.point


@dataclass
class FileCase(KillCase):
    """One new session in a thread, where a message with a file is asked. Call `talk` and `check_talk`."""

    content: bytes = field(default_factory=lambda: uuid.uuid4().bytes * 10_000)

    def talk(self, kill_points: Kills) -> None:
        """Returns when the message is answered. A run that was shorter this time may end before its point."""
        self.session_id, self.route = new_thread(self.user, kill_points, self.point.platform, self.title)
        subject = files_of(self.route) if self.point.reads_files else self.route
        kill_points.plan(subject, self.point.plan)
        say_with_file(self.user, self.point.platform, self.route, self.content)
        eventually(self._answers, within=WAIT_SECONDS, show=lambda: self.point)
        self.was_killed = subject in kill_points.killed
        if self.was_killed and self.point.plan.function == TURN and self.point.name != "return":
            # Where there are no threads, what it sends again would be taken for an answer to the next case.
            eventually(lambda: kill_points.is_repeated(subject, TURN), within=WAIT_SECONDS, show=lambda: self.point)

    def check_talk(self) -> None:
        """The file is in the transcript once, and so is the answer."""
        asked, answer = self.user.transcript(self.session_id)[6:]
        assert (str(asked["content"]).partition("\n")[0], answer["role"]) == (QUESTION, "assistant"), self.point
        digests = [file["sha256"] for file in asked["files"]]
        assert digests == [hashlib.sha256(self.content).hexdigest()], self.point
        session = self.user.session(self.session_id)
        assert (session["epoch"], session["turn_running"], session["suspended"]) == (1, False, False), self.point
        (thread,) = self.user.threads(self.title, self.point.platform)
        self._check_bot_texts(thread, QUESTION)


def read_again_soon(patch: Patch) -> None:
    """Files that a dead run was to read are asked for again within seconds, as its turns are."""
    patch.setattr(fetch_files, "LEASE", 1_000 * LEASE_SECONDS)
    patch.setattr(wait_for_files, "FETCH_AGAIN", 2.0 * LEASE_SECONDS)


def new_thread(user: ApiUser, kill_points: Kills, platform: str, title: str) -> tuple[str, str]:
    """A session that was handed off, and its route, whose runs are counted from now on."""
    done = user.hand_off(session_id := user.create_session(title=title), platform, target=HOMES[platform])
    assert done["state"] == "completed", done
    route: str = done["session"]["owner"]
    kill_points.forget(route)
    kill_points.forget(files_of(route))
    return session_id, route


def say_with_file(user: ApiUser, platform: str, route: str, content: bytes) -> None:
    file = {"name": "run.log", "type": "text/plain", "data": base64.b64encode(content).decode()}
    thread = route.rsplit(":", 1)[-1]
    user.service.simulator.say(platform, HOMES[platform], QUESTION, thread=thread, files=[file])


def run_cases(cases: Sequence[KillCase], kill_points: Kills, *, talk: bool) -> None:
    """Run the cases concurrently and check all of them at the end, when late duplicates would show.

    Cases that would take others with them run alone: on AWS those of `process`, which has batches. Where there are no
    threads, the sessions of all cases would live in one chat: each is checked before the next begins.
    """
    for case in [case for case in cases if case.point.platform not in THREADED]:
        case.talk(kill_points) if talk else case.hand_off(kill_points)
        case.check_talk() if talk else case.check_handoff()
    cases = [case for case in cases if case.point.platform in THREADED]
    alone = [case for case in cases if case.point.plan.function in kill_points.alone]
    for case in alone:
        case.talk(kill_points) if talk else case.hand_off(kill_points)
    with ThreadPoolExecutor(CONCURRENT) as pool:
        others = [case for case in cases if case not in alone]
        list(pool.map(lambda case: case.talk(kill_points) if talk else case.hand_off(kill_points), others))
    for case in cases:
        if talk:
            case.check_talk()
        else:
            case.check_handoff()


HANDOFF_RUNS = ((PROCESS, 0), (AGENT, 0), (TURN, 0))
"""Process moves the session, the agent confirms, turn delivers."""
TALK_RUNS = ((TURN, 0), (AGENT, 0), (TURN, 1))
"""Turn offers, the agent answers, turn delivers."""


def find_points(user: ApiUser, kill_points: KillPoints, platforms: Sequence[str], *, talk: bool) -> list[Point]:
    """Every point, from one run on each platform without faults."""
    found: list[Point] = []
    for platform in platforms:
        session_id = user.create_session(title=(title := f"calm {uuid.uuid4().hex[:10]}"))
        done = user.hand_off(session_id, platform, target=HOMES[platform])
        assert done["state"] == "completed", done
        subject, runs = done["id"], HANDOFF_RUNS
        if talk:
            (thread,) = user.threads(title, platform)
            kill_points.forget(done["session"]["owner"])
            user.service.simulator.say(platform, thread["chat"], QUESTION, thread=thread["id"])
            subject, runs = done["session"]["owner"], TALK_RUNS
        for function, run in runs:
            calls = eventually(lambda of=kill_points.runs[subject, function], run=run: _finished(of, run))  # type: ignore[misc]  # bound in this round
            found += points_of(platform, function, run, calls)
    return found


FILE_RUNS = ((TURN, 0, False), (AGENT, 0, True), (TURN, 0, True), (TURN, 1, False), (AGENT, 0, False))
"""Turn asks for the file, a run reads it, turn waits for it, turn offers, the agent answers."""


def find_file_points(user: ApiUser, kill_points: KillPoints, platform: str) -> list[Point]:
    """Every point of a message with a file, from one run without faults."""
    _, route = new_thread(user, kill_points, platform, f"calm {uuid.uuid4().hex[:10]}")
    say_with_file(user, platform, route, b"calm")
    found: list[Point] = []
    for function, run, reads_files in FILE_RUNS:
        subject = files_of(route) if reads_files else route
        calls = eventually(lambda of=kill_points.runs[subject, function], run=run: _finished(of, run))  # type: ignore[misc]  # bound in this round
        found += [replace(point, reads_files=reads_files) for point in points_of(platform, function, run, calls)]
    eventually(lambda: _finished(kill_points.runs[route, TURN], 2), within=WAIT_SECONDS)  # the answer is delivered
    return found


def _finished(runs: list[list[str]], run: int) -> list[str]:
    """The calls of a run once it has returned."""
    return list(runs[run]) if len(runs) > run and runs[run][-1:] == ["return"] else []
