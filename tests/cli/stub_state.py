"""What the stub service remembers and how it answers: the contract, with scripted progress."""

import hashlib
import json
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]

STEPS = [
    ("requested", "requested"),
    ("claimed", "picked up"),
    ("thread_opened", "thread opened"),
    ("moved", "session moved"),
    ("kickoff_sent", "agent asked to confirm"),
    ("confirmed", "agent confirmed"),
    ("delivered", "confirmation delivered"),
    ("completed", "completed"),
]
TOKEN = "stub-token"
ROUTE = "telegram:1001:17"
LINK = "http://127.0.0.1:9/telegram/1001/17"


class Problem(Exception):
    """An answer of the service that is not a success."""

    def __init__(self, status: int, code: str, detail: str, **extra: Any) -> None:
        super().__init__(code)
        self.status = status
        self.body = {"type": "about:blank", "title": code, "status": status, "code": code, "detail": detail, **extra}


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def digest(messages: list[Json]) -> str:
    total = hashlib.sha256()
    for message in messages:
        text = json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        total.update(text.encode() + b"\n")
    return "sha256:" + total.hexdigest()


@dataclass
class Script:
    """How the stub behaves in one test."""

    stop_after: int = len(STEPS)  # a handoff stays at this many steps
    error: Json | None = None  # a handoff ends with this instead of completing
    digest: str | None = None  # the receipt's digest, if not the true one
    notice: str | None = None
    poll_after_ms: int = 10
    turn_polls: int = 1  # GETs of the session until a turn has its reply; 0: never
    page: int = 100
    reply: str = "You said: **{text}**"
    checks: list[Json] = field(default_factory=list)


class State:
    """Sessions, handoffs and homes in memory; every method is one call of the contract."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.lock = threading.RLock()
        self.sessions: dict[str, Json] = {}
        self.transcripts: dict[str, list[Json]] = {}
        self.handoffs: dict[str, Json] = {}
        self.keys: dict[str, tuple[Json, str]] = {}
        self.turns: dict[str, Json] = {}
        self.homes = {"telegram": "1001", "slack": None, "discord": None}

    def session(self, session_id: str) -> Json:
        if session_id not in self.sessions:
            raise Problem(404, "unknown_session", f"There is no session {session_id}.")
        self._advance_turn(session_id)
        return self.sessions[session_id]

    def put_session(self, session_id: str, about: Json) -> Json:
        fresh = {
            "id": session_id, "title": None, "source": None, "cwd": None, "model": None, "owner": "cli", "epoch": 0,
            "message_count": 0, "active_handoff": None, "link": None, "suspended": False, "turn_running": False,
            "created_at": now(), "updated_at": now(),
        }  # fmt: skip
        self.sessions[session_id] = {**self.sessions.get(session_id, fresh), **about}
        self.transcripts.setdefault(session_id, [])
        return self.sessions[session_id]

    def append(self, session_id: str, body: Json) -> Json:
        session, stored = self._writable(session_id, body["epoch"]), self.transcripts[session_id]
        for message in body["messages"]:
            if message["role"] == "tool" and not isinstance(message.get("tool_call_id"), str):
                raise Problem(422, "invalid_request", "A tool message names the call that it answers.")
        after, messages = body["after"], body["messages"]
        if after > len(stored) or stored[after : after + len(messages)] != messages[: len(stored) - after]:
            raise Problem(409, "out_of_sequence", "Other messages are stored.", message_count=len(stored))
        stored.extend(messages[len(stored) - after :])
        session["message_count"] = len(stored)
        return {"message_count": len(stored), "epoch": session["epoch"]}

    def start_turn(self, session_id: str, body: Json) -> Json:
        session = self._writable(session_id, body["epoch"])
        if body["id"] not in self.turns:
            if session["turn_running"]:
                raise Problem(409, "session_busy", "The agent is still answering. Wait for it, then send this again.")
            self.turns[body["id"]] = {"session": session_id, "text": body["text"], "polls": 0, "done": False}
            session["turn_running"] = True
        return {"turn": {"id": body["id"]}, "session": session, "poll_after_ms": self.script.poll_after_ms}

    def resume(self, session_id: str, body: Json) -> Json:
        session = self.session(session_id)
        if body.get("fork"):
            copy = self.put_session(f"{session_id[:20]}-fork", {"title": f"{session['title']} (copy)"})
            self.transcripts[copy["id"]] = list(self.transcripts[session_id])
            copy["message_count"] = session["message_count"]
            return copy
        if body["epoch"] != session["epoch"]:
            raise self._moved(session)
        session.update(owner="cli", link=None, epoch=session["epoch"] + 1, active_handoff=None)
        return session

    def messages(self, session_id: str, after: int, limit: int) -> Json:
        self.session(session_id)
        stored = self.transcripts[session_id]
        until = min(after + min(limit, self.script.page), len(stored))
        following = until if until < len(stored) else None
        return {"messages": stored[after:until], "after": after, "next": following, "message_count": len(stored)}

    def request_handoff(self, body: Json, key: str) -> Json:
        if key in self.keys:
            known, handoff_id = self.keys[key]
            if known != body:
                raise Problem(422, "idempotency_key_reused", "The key was used for another request.")
            return self.handoffs[handoff_id]
        self._check_platform(body["platform"], body.get("target"))
        session = self._writable(body["session_id"], body["epoch"])
        if session["active_handoff"]:
            running = session["active_handoff"]
            raise Problem(409, "handoff_in_flight", "A handoff is under way.", handoff_id=running, status_url="")
        handoff_id = f"h{len(self.handoffs) + 1}"
        session["active_handoff"] = handoff_id
        self.keys[key] = (body, handoff_id)
        self.handoffs[handoff_id] = {
            "id": handoff_id, "session_id": session["id"], "platform": body["platform"], "state": "pending",
            "done": False, "step": "requested", "steps": [], "thread": None, "notice": None, "error": None,
            "receipt": None, "session": None, "resume_hint": f"Bring it back with: handoff resume {session['id'][:8]}",
            "attempt": 0, "status_url": f"/handoffs/{handoff_id}", "poll_after_ms": self.script.poll_after_ms,
            "created_at": now(), "updated_at": now(),
        }  # fmt: skip
        return self.handoff(handoff_id)

    def handoff(self, handoff_id: str) -> Json:
        """Each look is one step further, so that tests need no clock."""
        if handoff_id not in self.handoffs:
            raise Problem(404, "unknown_handoff", f"There is no handoff {handoff_id}.")
        handoff = self.handoffs[handoff_id]
        session = self.sessions[handoff["session_id"]]
        if not handoff["done"] and len(handoff["steps"]) < self.script.stop_after:
            name, label = STEPS[len(handoff["steps"])]
            handoff["steps"] = [*handoff["steps"], {"name": name, "at": now(), "label": label}]
            handoff["step"] = name
            self._effects(name, handoff, session)
        elif not handoff["done"] and self.script.error:
            self._end(handoff, session, self.script.error)
        handoff["session"] = {key: session[key] for key in ("owner", "epoch", "message_count", "title")}
        return dict(handoff)

    def cancel(self, handoff_id: str) -> Json:
        handoff = self.handoff(handoff_id)
        session = self.sessions[handoff["session_id"]]
        if handoff["done"] or session["owner"] != "cli":
            raise Problem(409, "too_late", "The session has moved already. Bring it back with /resume.")
        self._end(self.handoffs[handoff_id], session, {"code": "cancelled", "message": "cancelled on request"})
        return self.handoffs[handoff_id]

    def platforms(self) -> Json:
        rows = [
            {"name": name, "supported": True, "configured": name != "discord", "threads": True,
             "home": {"chat": chat} if chat else None}
            for name, chat in self.homes.items()
        ]  # fmt: skip
        rows.append({"name": "matrix", "supported": False, "configured": False, "threads": False, "home": None})
        return {"platforms": rows}

    def _effects(self, name: str, handoff: Json, session: Json) -> None:
        if name == "thread_opened":
            handoff["thread"] = {"id": "17", "url": LINK}
        elif name == "moved":
            session.update(owner=ROUTE, link=LINK, epoch=session["epoch"] + 1)
        elif name == "confirmed":
            self._receipt(handoff, self.transcripts[session["id"]])
            self._say(session, {"role": "user", "content": "handed over", "internal": True})
            self._say(session, {"role": "assistant", "content": "I am here now."})
        elif name == "completed":
            handoff.update(done=True, state="completed", notice=self.script.notice)
            session["active_handoff"] = None

    def _receipt(self, handoff: Json, messages: list[Json]) -> None:
        roles: dict[str, int] = {}
        for message in messages:
            roles[message["role"]] = roles.get(message["role"], 0) + 1
        true = self.script.digest or digest(messages)
        handoff["receipt"] = {"by_role": roles, "digest": true, "message_count": len(messages)}

    def _end(self, handoff: Json, session: Json, error: Json) -> None:
        handoff.update(done=True, state="failed", error=error)
        if session["owner"] != "cli":
            session.update(owner="cli", link=None, epoch=session["epoch"] + 1)
        session["active_handoff"] = None
        handoff["session"] = {key: session[key] for key in ("owner", "epoch", "message_count", "title")}

    def _advance_turn(self, session_id: str) -> None:
        for turn in self.turns.values():
            if turn["session"] == session_id and not turn["done"]:
                turn["polls"] += 1
                if self.script.turn_polls and turn["polls"] > self.script.turn_polls:
                    turn["done"] = True
                    session = self.sessions[session_id]
                    self._say(session, {"role": "user", "content": turn["text"]})
                    self._say(session, {"role": "assistant", "content": self.script.reply.format(text=turn["text"])})
                    session["turn_running"] = False

    def _say(self, session: Json, message: Json) -> None:
        self.transcripts[session["id"]].append(message)
        session["message_count"] = len(self.transcripts[session["id"]])

    def _check_platform(self, name: str, target: str | None) -> None:
        if name == "matrix":
            raise Problem(422, "platform_not_supported", "matrix is not supported yet. Use telegram, slack or discord.")
        if name not in self.homes:
            raise Problem(422, "unknown_platform", f"There is no platform {name}. Use telegram, slack or discord.")
        if name == "discord":
            raise Problem(422, "platform_not_configured", "discord has no bot token yet.")
        if not self.homes[name] and not target:
            raise Problem(422, "no_home", f"No home on {name}. Set one with: handoff config home {name} CHAT")

    def _writable(self, session_id: str, epoch: int) -> Json:
        session = self.session(session_id)
        if epoch != session["epoch"] or session["owner"] != "cli":
            raise self._moved(session)
        return session

    def _moved(self, session: Json) -> Problem:
        where = {"owner": session["owner"], "epoch": session["epoch"], "link": session["link"]}
        return Problem(409, "moved", f"The session lives at {session['owner']} now.", **where)
