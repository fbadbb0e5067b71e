"""Handoffs, chat messages and moves from chat to chat while the program dies at random moments, and what must hold then."""

import random
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from shared.use_cases.deliver import REPEATING
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.kill_cases import MARK
from tests.support.platform_cases import THREADED, may_repeat
from tests.support.supervised_server import SupervisedServer
from tests.support.waiting import eventually

WAIT_SECONDS = 60.0
LONGEST_PAUSE = 0.4
CLIENTS = 16


class Trace:
    """What was done and when, to be printed if a test fails."""

    def __init__(self, seed: int) -> None:
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self.lines = [f"seed {seed}"]

    def note(self, what: str) -> None:
        with self._lock:
            self.lines.append(f"{time.monotonic() - self._began:8.3f} {what}")


@dataclass
class Conversation:
    """One session: handed off under fire, or before it and then spoken to."""

    user: ApiUser
    platform: str
    trace: Trace
    title: str = field(default_factory=lambda: f"fire {uuid.uuid4().hex[:8]}")

    def hand_off(self) -> None:
        """Ask for a handoff; returns when the request is accepted."""
        self.session_id = self.user.create_session(title=self.title)
        answer = self.user.request_handoff(self.session_id, self.platform, key=uuid.uuid4().hex)
        assert answer.status_code == 202, answer.text
        self.handoff_id = answer.json()["id"]
        self.trace.note(f"accepted {self.title} on {self.platform}")

    def check(self) -> None:
        """Completed with one move, one thread, one confirmation."""
        view = self.user.wait_for_handoff(self.handoff_id, within=WAIT_SECONDS)
        assert (view["state"], view["error"]) == ("completed", None), view
        session = self.user.session(self.session_id)
        assert (session["epoch"], session["active_handoff"], session["turn_running"]) == (1, None, False), session
        transcript = self.user.transcript(self.session_id)
        assert [message.get("internal", False) for message in transcript] == [False] * 4 + [True, False], transcript
        threads = self.user.threads(self.title, self.platform)
        spoken = [thread for thread in threads if thread["messages"]]
        assert [thread["id"] for thread in spoken] == [session["owner"].rsplit(":", 1)[-1]], threads
        assert len(threads) == 1 or may_repeat(self.platform), threads
        check_sent_once(self.platform, bot_texts(spoken[0]), "Confirmed")


@dataclass
class Talk:
    """A message in a thread that exists already."""

    thread: ChatThread
    trace: Trace
    text: str = field(default_factory=lambda: f"said {uuid.uuid4().hex[:8]}")

    def say(self) -> None:
        self.thread.say(self.text)
        self.trace.note(f"{self.text} in {self.thread.title}")

    def check(self) -> None:
        """Answered once, in the transcript and in the thread."""
        thread, text = self.thread, self.text
        eventually(
            lambda: thread.is_answered(text) and thread.replies(text), within=WAIT_SECONDS, show=thread.bot_texts
        )
        eventually(lambda: not thread.session()["turn_running"], within=WAIT_SECONDS)
        roles = [message["role"] for message in thread.user.transcript(thread.session_id)[6:]]
        assert roles == ["user", "assistant"], roles
        check_sent_once(thread.platform, thread.replies(), text)


@dataclass
class Move:
    """A command in a thread that exists already, to move its session to another platform."""

    thread: ChatThread
    target: str
    trace: Trace

    def say(self) -> None:
        self.thread.say(f"/handoff {self.target}")
        self.trace.note(f"move of {self.thread.title} to {self.target}")

    def check(self) -> None:
        """Moved once, with one confirmation there and one link in the old thread."""
        thread, user = self.thread, self.thread.user
        if not user.http.get(f"/handoffs?session_id={thread.session_id}").json()["handoffs"][1:]:
            self.say()  # Discord does not repeat a command that met a dead service: the person types it again
        eventually(lambda: thread.replies("This session moved to"), within=WAIT_SECONDS, show=thread.bot_texts)
        session = thread.session()
        assert session["owner"].startswith(f"{self.target}:"), session
        assert (session["epoch"], session["active_handoff"], session["turn_running"]) == (2, None, False), session
        handoffs = user.http.get(f"/handoffs?session_id={thread.session_id}").raise_for_status().json()["handoffs"]
        assert [view["state"] for view in handoffs] == ["completed"] * 2, handoffs
        check_sent_once(thread.platform, thread.replies("moved to"), "This session moved to")
        threads = user.threads(thread.title, self.target)
        spoken = [found for found in threads if found["messages"]]
        assert [found["id"] for found in spoken] == [session["owner"].rsplit(":", 1)[-1]], threads
        check_sent_once(self.target, bot_texts(spoken[0]), "Confirmed")


@dataclass(frozen=True)
class Load:
    """How many handoffs, messages and moves there are, and how often the program dies."""

    handoffs: int
    messages: int
    moves: int
    deaths: int


def bot_texts(thread: dict[str, Any]) -> list[str]:
    return [message["text"] for message in thread["messages"] if message["from"] == "bot"]


def check_sent_once(platform: str, texts: list[str], containing: str) -> None:
    """One text. Where the platform cannot tell what arrived, also a marked repeat and placeholders of repeats."""
    if not may_repeat(platform):
        assert [containing in text for text in texts] == [True], texts
        return
    assert all(containing in text or text == REPEATING for text in texts), texts
    found = [text for text in texts if containing in text]
    assert sum(MARK not in text for text in found) <= 1 <= len(found) <= 2, texts


def under_fire(
    server: SupervisedServer,
    load: Load,
    *,
    seed: int,
    on_death: Callable[[random.Random], object] = lambda _: None,
) -> None:
    """A share of handoffs and messages before each death, at a random moment after it began. Prints the trace."""
    chance, trace = random.Random(seed), Trace(seed)  # noqa: S311  # not for security
    server.after_death = lambda: trace.note(f"dead, {on_death(chance)}")
    try:
        user = server.user()
        talks = [Talk(ChatThread(user, THREADED[number % len(THREADED)]), trace) for number in range(load.messages)]
        handoffs = [Conversation(user, THREADED[number % len(THREADED)], trace) for number in range(load.handoffs)]
        moves = [_move(user, number, trace) for number in range(load.moves)]
        work: list[Callable[[], None]] = [
            *(talk.say for talk in talks),
            *(handoff.hand_off for handoff in handoffs),
            *(move.say for move in moves),
        ]
        chance.shuffle(work)
        begun: list[Future[None]] = []
        with ThreadPoolExecutor(CLIENTS) as clients:
            for death in range(load.deaths):
                begun += [clients.submit(one) for one in work[death :: load.deaths]]
                time.sleep(chance.uniform(0.0, LONGEST_PAUSE))  # any moment: what is under way differs each time
                server.kill_and_wait()
                trace.note(f"started again ({death + 1})")
        for future in begun:
            future.result()
        for group in (handoffs, talks, moves):
            for one in group:
                one.check()
    finally:
        server.after_death = lambda: None
        print("\n".join(trace.lines))  # noqa: T201  # shown if it fails


def _move(user: ApiUser, number: int, trace: Trace) -> Move:
    source, target = (THREADED[(number + step) % len(THREADED)] for step in (0, 1))
    return Move(ChatThread(user, source), target, trace)
