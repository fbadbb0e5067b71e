"""The real service as tests of a runner use it: sessions of a machine in threads, their turns, and what the runner sent.

The runner reaches it through a `FaultProxy`, which records its requests. Tests speak in the threads of the simulator.
"""

import uuid
from dataclasses import dataclass, field
from typing import Any, cast

from tests.support.api_user import ApiUser, Json
from tests.support.fault_proxy import FaultProxy
from tests.support.http_machine import Machine, MachineThread, MachineTurn
from tests.support.server_process import user_of
from tests.support.service import Service
from tests.support.waiting import eventually

CONFIRMED = "Confirmed on your laptop"


class RunnerThread(MachineThread):
    """The thread of a session that runs on the machine of a test; its kickoff is over unless `message` is given."""

    def __init__(
        self,
        user: ApiUser,
        machine: Machine,
        runs_on: tuple[str, str],
        *,
        message: str = "",
        platform: str = "telegram",
    ) -> None:
        self.user, self.platform, self.machine = user, platform, machine
        self.title = f"thread {uuid.uuid4().hex[:8]}"
        self.session_id = user.create_session(4, self.title)
        agent, native_id = runs_on
        named = {"runner": machine.id, "agent": agent, "native_id": native_id}
        user.http.put(f"/sessions/{self.session_id}", json={"runs_on": named}).raise_for_status()
        more = {"message": message} if message else {}
        accepted = user.request_handoff(self.session_id, self.platform, **more).raise_for_status().json()
        if not message:
            machine.claim(self.session_id).begin().reply(CONFIRMED).raise_for_status()
            user.wait_for_handoff(accepted["id"])
        found: Json = eventually(lambda: next(iter(user.threads(self.title, self.platform)), None))
        self.chat, self.id = str(found["chat"]), str(found["id"])
        if not message:
            eventually(lambda: self.bot_texts(CONFIRMED))


@dataclass
class Turn:
    """One turn: the part of the transcript after `before`, and the requests of the runner from number `since` on."""

    thread: RunnerThread
    proxy: FaultProxy
    before: int
    since: int

    @property
    def session_id(self) -> str:
        return self.thread.session_id

    def sent(self, call: str) -> list[Json]:
        """The bodies of one kind of request about this session."""
        wanted = [one for one in list(self.proxy.requests)[self.since :] if one.path.endswith(f"/{call}")]
        return [one.json for one in wanted if one.json["session_id"] == self.session_id]

    @property
    def progress(self) -> list[Json]:
        return [body["progress"] for body in self.sent("events") if "progress" in body]

    @property
    def questions(self) -> dict[int, Json]:
        return {ask["n"]: ask for body in self.sent("events") for ask in body.get("ask", [])}

    @property
    def acknowledged(self) -> set[str]:
        return {name for body in self.sent("events") for name in body.get("acknowledged", [])}

    @property
    def results(self) -> list[Json]:
        return self.sent("result")

    @property
    def messages(self) -> list[Json]:
        """What was committed."""
        return self.thread.user.transcript(self.session_id)[self.before :]

    @property
    def is_committed(self) -> bool:
        return any(message["role"] == "assistant" for message in self.messages)

    @property
    def reply(self) -> str:
        """The last committed message. Each message of the result is in the transcript once."""
        committed = self.messages
        sent = [message["content"] for message in self.results[-1]["messages"]]
        assert [message["content"] for message in committed if message["role"] != "user"] == sent
        return str(committed[-1]["content"])

    def press(self, kind: str) -> None:
        """Press the button of the newest question for this kind of option, when it is in the thread."""
        options = self.questions[max(self.questions)]["options"]
        name = next(option["name"] for option in options if option["kind"] == kind)
        message = self.thread.question()
        label = next(button["label"] for button in message["buttons"] if name in button["label"])
        self.thread.press(message, label)


@dataclass
class ServiceOfRunner:
    """The service behind the proxy, the user's token, and one machine with the id of the test's runner."""

    service: Service
    proxy: FaultProxy
    runner_id: str
    agents: tuple[str, ...] = ("claude-code", "codex", "gemini")
    user: ApiUser = field(init=False)
    machine: Machine = field(init=False)

    def __post_init__(self) -> None:
        self.user = user_of(self.service)
        self.machine = Machine(self.user, self.runner_id)

    @property
    def token(self) -> str:
        return self.service.tokens["owner"]

    def add_session(self, agent: str, native_id: str, message: str = "", platform: str = "telegram") -> RunnerThread:
        return RunnerThread(self.user, self.machine, (agent, native_id), message=message, platform=platform)

    def turn_of(self, thread: RunnerThread) -> Turn:
        """The turn that is next in this session."""
        count = int(self.user.session(thread.session_id)["message_count"])
        return Turn(thread, self.proxy, count, len(self.proxy.requests))

    def say(self, thread: RunnerThread, *texts: str) -> Turn:
        """Speak in the thread; returns the turn that answers."""
        turn = self.turn_of(thread)
        for text in texts:
            thread.say(text)
        return turn

    def claim(self, thread: RunnerThread, text: str = "hello") -> MachineTurn:
        """A turn that the machine claimed and began, without a runner."""
        thread.say(text)
        return self.machine.claim(thread.session_id).begin()

    def interrupt(self, thread: RunnerThread, text: str) -> None:
        """Leave the agent's session as after a crash: a turn that began and was stopped."""
        self.claim(thread, text)
        thread.say("/stop")
        thread.wait_for("Stopped")

    def revoke(self) -> None:
        self.user.http.delete(f"/runners/{self.runner_id}").raise_for_status()

    def runners(self) -> list[Json]:
        found = self.user.http.get("/runners").json()["runners"]
        return [one for one in cast("list[Any]", found) if one["id"] == self.runner_id]
