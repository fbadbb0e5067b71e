"""A runner of a user as bare HTTP calls, and the thread of a session that it runs, for tests of the whole service."""

import uuid
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.api_user import ApiUser, Json
from tests.support.chat_thread import ChatThread
from tests.support.platform_cases import DEFAULT_PLATFORM
from tests.support.waiting import eventually

DIGEST = "0" * 64
OPTIONS = [
    {"id": "yes", "kind": "allow_once", "name": "Allow"},
    {"id": "no", "kind": "reject_once", "name": "Refuse"},
]


@dataclass
class Machine:
    """One registered runner. It claims turns and answers them when a test says so."""

    user: ApiUser
    id: str = field(default_factory=lambda: f"m-{uuid.uuid4().hex[:8]}")
    name: str = "laptop"

    def __post_init__(self) -> None:
        self.register().raise_for_status()

    def register(self) -> httpx.Response:
        agents = [{"name": "claude-code", "version": "2.1.0"}]
        body = {"name": self.name, "version": "1", "protocol": 1, "agents": agents}
        return self.user.http.put(f"/runners/{self.id}", json=body)

    def runs_on(self, native_id: str = "native-1") -> Json:
        return {"runner": self.id, "agent": "claude-code", "native_id": native_id}

    def session(self, title: str, native_id: str = "native-1") -> str:
        """A new session of the agent on this machine, with four messages."""
        session_id = self.user.create_session(4, title)
        self.user.http.put(f"/sessions/{session_id}", json={"runs_on": self.runs_on(native_id)}).raise_for_status()
        return session_id

    def waiting(self) -> list[Json]:
        turns: list[Json] = self.user.http.get(f"/runners/{self.id}/turns").raise_for_status().json()["turns"]
        return turns

    def claim(self, session_id: str | None = None, **more: Any) -> "MachineTurn":
        """Claim the first turn that waits, of this session if one is given. A pointer may outlive its turn for a moment."""

        def claimed() -> Json | None:
            for turn in self.waiting():
                if session_id in (None, turn["session_id"]):
                    body = {"session_id": turn["session_id"], "claim_id": uuid.uuid4().hex, **more}
                    answer = self.user.http.post(f"/runners/{self.id}/turns/{turn['turn_id']}/claim", json=body)
                    if answer.status_code != httpx.codes.CONFLICT:
                        claim: Json = answer.raise_for_status().json()
                        return claim
            return None

        return MachineTurn(self, eventually(claimed, show=self.waiting))


@dataclass
class MachineTurn:
    """A claimed turn."""

    machine: Machine
    claim: Json
    seq: int = 0

    @property
    def words(self) -> list[str]:
        return [word["text"] for word in self.claim["words"]]

    @property
    def given(self) -> list[str]:
        return [word["id"] for word in self.claim["words"]]

    def post(self, call: str, **body: Any) -> httpx.Response:
        named = {"session_id": self.claim["session_id"], "fence": self.claim["fence"]}
        path = f"/runners/{self.machine.id}/turns/{self.claim['turn_id']}/{call}"
        return self.machine.user.http.post(path, json={**named, **body})

    def begin(self) -> "MachineTurn":
        self.post("begin").raise_for_status()
        return self

    def report(self, **body: Any) -> Json:
        self.seq += 1
        heard: Json = self.post("events", seq=self.seq, **body).raise_for_status().json()
        return heard

    def ask(self, number: int = 1, title: str = "Run a command", detail: str = "touch it") -> None:
        self.report(ask=[{"n": number, "title": title, "kind": "execute", "detail": detail, "options": OPTIONS}])

    def decision(self, number: int = 1) -> str | None:
        """The option that was chosen for a question, once it is decided."""

        def decided() -> str | None:
            return next((str(q["option"]) for q in self.report()["decided"] if q["n"] == number), None)

        return eventually(decided)

    def reply(self, text: str, *, given: list[str] | None = None, digest: str = DIGEST, **more: Any) -> httpx.Response:
        """Post the result of the turn."""
        messages = [{"role": "assistant", "content": text}]
        body = {"digest": digest, "outcome": "done", "messages": messages, "given": given or self.given, **more}
        return self.post("result", **body)


class MachineThread(ChatThread):
    """The thread of a session that a machine runs; the machine has confirmed it."""

    def __init__(
        self, user: ApiUser, machine: Machine, platform: str = DEFAULT_PLATFORM, chat: str | None = None
    ) -> None:
        self.user, self.platform, self.machine = user, platform, machine
        self.title = f"{platform} {uuid.uuid4().hex[:8]}"
        self.session_id = machine.session(self.title, native_id=uuid.uuid4().hex)
        accepted = user.request_handoff(self.session_id, platform, target=chat).raise_for_status().json()
        turn = machine.claim(self.session_id)
        assert turn.claim["kind"] == "kickoff"
        turn.begin().reply(
            "Confirmed on your laptop", summary={"steps": 2, "files": 0, "seconds": 3}
        ).raise_for_status()
        self.handoff = user.wait_for_handoff(accepted["id"])
        assert (self.handoff["state"], self.handoff["error"]) == ("completed", None), self.handoff
        (thread,) = user.threads(self.title, platform)
        self.chat, self.id = str(thread["chat"]), str(thread["id"])

    def messages(self) -> list[dict[str, Any]]:
        threads = self.user.threads(self.title, self.platform)
        return [message for thread in threads for message in thread["messages"]]

    def questions(self) -> list[dict[str, Any]]:
        return [message for message in self.messages() if message.get("buttons")]

    def question(self) -> dict[str, Any]:
        """The message of the agent's question, once it is there."""
        return eventually(self.questions, show=self.bot_texts)[0]

    def press(self, message: dict[str, Any], label: str, *, user: str = "owner") -> None:
        button = next(button["id"] for button in message["buttons"] if button["label"] == label)
        self.user.service.simulator.press(self.platform, self.chat, message["id"], button, thread=self.id, user=user)
