"""The service as a runner sees it: registration, polling, claims with fences and leases, events, results.

A test offers turns, presses buttons and reads what arrived. Faults come from a `FaultProxy` in front of it.
"""

import json
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.servers import HttpServer, Request, Response, json_response

TOKEN = "token-of-the-user"
LEASE = 90


@dataclass
class FakeTurn:
    """One turn, and everything that the runner told about it."""

    id: str
    session: str
    kind: str
    words: list[dict[str, str]]
    deadline_in: float | None = None
    state: str = "offered"
    fence: int = 0
    claim_id: str = ""
    claimed: dict[str, Any] = field(default_factory=dict)
    lease_until: float = 0.0
    begun: int = 0
    begun_fence: int = 0
    end: str = ""
    seq: int = 0
    questions: dict[int, dict[str, Any]] = field(default_factory=dict)
    decided: list[dict[str, Any]] = field(default_factory=list)
    steered: list[dict[str, str]] = field(default_factory=list)
    progress: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    commits: int = 0

    @property
    def reply(self) -> str:
        """The last message of the committed result."""
        assert self.commits == 1, f"{self.commits} commits, state {self.state} {self.end}"
        return str(self.results[-1]["messages"][-1]["content"])


@dataclass
class FakeSession:
    """A session that runs on a machine."""

    id: str
    runner: str
    agent: str
    native_id: str
    dirty: bool = False
    unseen: list[dict[str, Any]] = field(default_factory=list)


class FakeRunnerService(HttpServer):
    """One user with one token. `now` is the service's clock."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(self._respond)
        self.now = now
        self.runners: dict[str, dict[str, Any]] = {}
        self.revoked: set[str] = set()
        self.sessions: dict[str, FakeSession] = {}
        self.turns: dict[str, FakeTurn] = {}
        self.lease = LEASE
        self._guard = threading.RLock()

    def add_session(self, runner: str, agent: str, native_id: str) -> FakeSession:
        session = FakeSession(uuid.uuid4().hex, runner, agent, native_id)
        self.sessions[session.id] = session
        return session

    def offer(
        self, session: FakeSession, *texts: str, kind: str = "words", deadline_in: float | None = None
    ) -> FakeTurn:
        words = [{"id": f"w{number}-{uuid.uuid4().hex[:6]}", "text": text} for number, text in enumerate(texts)]
        turn = FakeTurn(uuid.uuid4().hex, session.id, kind, words, deadline_in)
        with self._guard:
            self.turns[turn.id] = turn
        return turn

    def steer(self, turn: FakeTurn, text: str) -> str:
        word = {"id": f"s-{uuid.uuid4().hex[:6]}", "text": text}
        with self._guard:
            turn.words.append(word)
            turn.steered.append(word)
        return word["id"]

    def press(self, turn: FakeTurn, number: int, kind: str) -> None:
        with self._guard:
            option = next(o["id"] for o in turn.questions[number]["options"] if o["kind"] == kind)
            turn.decided.append({"n": number, "state": "answered", "option": option})

    def expire(self, turn: FakeTurn, number: int) -> None:
        with self._guard:
            turn.decided.append({"n": number, "state": "expired", "option": None})

    def stop_turn(self, turn: FakeTurn, code: str = "ended") -> None:
        """What /stop and a move do: the turn is over, and its runner is told."""
        with self._guard:
            turn.state, turn.end = "ended", code

    def _respond(self, request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return _problem(401, "unauthenticated")
        with self._guard:
            return self._route(request, [part for part in request.path.split("/") if part])

    def _route(self, request: Request, parts: list[str]) -> Response:  # noqa: PLR0911 - one per call
        match [request.method, *parts]:
            case ["GET", "runners"]:
                return json_response({"runners": [self._view(name) for name in self.runners]})
            case ["DELETE", "runners", name]:
                self.revoked.add(name)
                return Response(204)
            case ["PUT", "runners", name]:
                return self._register(name, request.json)
            case [_, "runners", name, *_] if name in self.revoked:
                return _problem(403, "runner_revoked")
            case [_, "runners", name, *_] if name not in self.runners:
                return _problem(404, "unknown_runner")
            case ["GET", "runners", name, "turns"]:
                return self._poll(name)
            case ["POST", "runners", name, "turns", turn_id, action]:
                return self._act(name, turn_id, action, request)
            case ["GET", "sessions", _, "messages"]:
                return json_response({"messages": [], "next": None})
        return _problem(404, "not_found")

    def _register(self, name: str, body: dict[str, Any]) -> Response:
        if name in self.revoked:
            return _problem(403, "runner_revoked")
        if body["protocol"] != 1:
            return _problem(426, "runner_too_old")
        self.runners[name] = {"name": body["name"], "agents": body["agents"]}
        return json_response({**self._view(name), "poll_after_ms": 10, "lease_seconds": self.lease})

    def _view(self, name: str) -> dict[str, Any]:
        revoked = name in self.revoked
        return {"id": name, **self.runners[name], "last_seen": None, "online": not revoked, "revoked": revoked}

    def _poll(self, name: str) -> Response:
        turns = [
            {"session_id": t.session, "turn_id": t.id, "agent": s.agent, "native_id": s.native_id, "kind": t.kind}
            for t in self.turns.values()
            if (s := self.sessions[t.session]).runner == name
            and (t.state == "offered" or (t.state == "claimed" and t.lease_until <= self.now()))
        ]
        return json_response({"turns": turns, "poll_after_ms": 10, "lease_seconds": self.lease})

    def _act(self, name: str, turn_id: str, action: str, request: Request) -> Response:
        turn = self.turns.get(turn_id)
        if turn is None:
            return _problem(404, "unknown_turn")
        session = self.sessions.get(turn.session)
        if session is None or request.json.get("session_id") != session.id:
            return _problem(404, "unknown_session")
        if session.runner != name:
            return _problem(409, "taken")
        if len(request.body) > 1024 * 1024:
            return _problem(413, "too_large")
        handler: Callable[[FakeTurn, FakeSession, dict[str, Any]], Response] = getattr(self, f"_{action}")
        return handler(turn, session, request.json)

    def _claim(self, turn: FakeTurn, session: FakeSession, body: dict[str, Any]) -> Response:
        if turn.state == "ended":
            return _problem(409, turn.end)
        if body["claim_id"] == turn.claim_id:
            return json_response(turn.claimed)
        free = turn.state == "offered" or turn.lease_until <= self.now() or body.get("previous_fence") == turn.fence
        if not free:
            return _problem(409, "taken")
        turn.state, turn.claim_id = "claimed", body["claim_id"]
        turn.fence += 1
        turn.lease_until = self.now() + self.lease
        turn.claimed = {
            "session_id": session.id,
            "turn_id": turn.id,
            "fence": turn.fence,
            "lease_seconds": self.lease,
            "kind": turn.kind,
            "words": list(turn.words),
            "unseen": session.unseen,
            "unseen_next": None,
            "native_dirty": session.dirty,
            "agent": session.agent,
            "native_id": session.native_id,
            "deadline_in": turn.deadline_in,
            "title": "A title",
            "platform": "telegram",
        }
        return json_response(turn.claimed)

    def _begin(self, turn: FakeTurn, session: FakeSession, body: dict[str, Any]) -> Response:
        if problem := self._live(turn, body):
            return problem
        turn.begun, turn.begun_fence, session.dirty = turn.begun + 1, turn.fence, True
        return json_response({"lease_seconds": self.lease})

    def _events(self, turn: FakeTurn, _session: FakeSession, body: dict[str, Any]) -> Response:
        if problem := self._live(turn, body):
            return problem
        assert body["seq"] > turn.seq or turn.fence != turn.begun_fence, "seq must grow"
        assert len(json.dumps(body)) <= 64 * 1024, "an event is too large"
        turn.seq = body["seq"]
        turn.lease_until = self.now() + self.lease
        if "progress" in body:
            turn.progress.append(body["progress"])
        for ask in body.get("ask", []):
            turn.questions.setdefault(ask["n"], ask)
        known = set(body.get("acknowledged", []))
        turn.decided = [decision for decision in turn.decided if f"q{decision['n']}" not in known]
        turn.steered = [word for word in turn.steered if word["id"] not in known]
        return json_response({"lease_seconds": self.lease, "decided": turn.decided, "steered": turn.steered})

    def _result(self, turn: FakeTurn, session: FakeSession, body: dict[str, Any]) -> Response:
        turn.results.append(body)
        if turn.state == "done":
            same = (body["fence"], body["digest"]) == (turn.fence, turn.results[0]["digest"])
            return json_response({"state": "done"}) if same else _problem(409, "other_result")
        if problem := self._live(turn, body):
            turn.results.pop()
            return problem
        if turn.begun_fence != turn.fence:
            return _problem(422, "not_begun")
        turn.state, turn.commits, session.dirty = "done", turn.commits + 1, False
        return json_response({"state": "done"})

    def _live(self, turn: FakeTurn, body: dict[str, Any]) -> Response | None:
        if turn.state in {"ended", "done"}:
            return _problem(409, turn.end or "ended")
        return None if body["fence"] == turn.fence else _problem(409, "superseded")


def _problem(status: int, code: str) -> Response:
    return json_response({"code": code, "title": code, "detail": f"It is {code}."}, status)
