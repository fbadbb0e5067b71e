"""The simulator's own HTTP interface: see everything, speak as a person, arm faults, take things away."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

from aiohttp import web

from local.chats.simulator import snapshot
from local.chats.simulator.faults import KINDS, OPERATIONS, SECONDS, Fault
from local.chats.simulator.handshake import Handshake
from local.chats.simulator.stage import Stage
from local.chats.simulator.store import Chat, Message, Missing, Thread
from local.chats.simulator.world import BOT, PLATFORMS, Person, Platform


class Wire(Protocol):
    """A platform's protocol, as far as people on it are concerned."""

    def routes(self) -> list[web.RouteDef]: ...

    def place(self, chat_id: str, thread_id: str | None) -> tuple[Chat, Thread | None]:
        """Where somebody speaks; raises Missing."""

    def say(self, chat: Chat, thread: Thread | None, person: Person, text: str) -> Message:
        """Somebody speaks, and the bot hears of it."""

    def remove_thread(self, chat: Chat, thread_id: str) -> None:
        """Somebody deletes a thread; raises Missing."""

    async def verify(self) -> Handshake:
        """Asks the webhook what the platform asks before it sends events there."""

    def webhook_changed(self) -> None:
        """Events that waited for a webhook may go now."""

    async def disconnect(self) -> None:
        """Ends the bot's open connections as the platform does now and then, so that it must come back."""


class Invalid(ValueError):
    """What was asked cannot be done; the message says why, for a person."""


class Control:
    """The verbs behind the page and the tests; each takes and returns plain JSON."""

    def __init__(self, stage: Stage, wires: Mapping[Platform, Wire]) -> None:
        self._stage = stage
        self._wires = wires

    def state(self) -> dict[str, Any]:
        return snapshot.state(self._stage.store)

    def say(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Speaks as `user` in a chat or one of its threads."""
        platform = _platform(body)
        text = body.get("text")
        if not isinstance(text, str) or not text.strip():
            raise Invalid("text is missing: say what the person writes")
        person = self._person(str(body.get("user", "owner")))
        thread_id = str(body["thread"]) if body.get("thread") not in (None, "") else None
        chat, thread = self._wires[platform].place(str(body.get("chat", "")), thread_id)
        if person.key not in (there := chat.who_sees(thread)):
            raise Invalid(f"{person.key} is not there; in that place are {', '.join(there) or 'nobody but the bot'}")
        message = self._wires[platform].say(chat, thread, person, text)
        return {"platform": platform, "chat": chat.id, "thread": thread_id, **snapshot.message_state(message)}

    def arm(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Arms a fault for the next `count` calls; a count of zero disarms it."""
        platform = _platform(body)
        kind = body.get("kind")
        if kind not in KINDS:
            raise Invalid(f"kind must be one of {', '.join(KINDS)}")
        count, on = body.get("count", 1), body.get("on")
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise Invalid("count must be a whole number, zero to disarm")
        if on is not None and on not in OPERATIONS:
            raise Invalid(f"on must be one of {', '.join(OPERATIONS)}")
        seconds = body.get("seconds", SECONDS.get(kind, 0.0))
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds < 0:
            raise Invalid("seconds must be a number, zero or more")
        self._stage.faults.arm(Fault(platform, kind, count, float(seconds), on))
        self._stage.faults_changed()
        return {"armed": [snapshot.fault_scene(fault) for fault in self._stage.faults.armed]}

    def remove(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Deletes a thread, or with no thread the whole chat, as somebody with the right to do so would."""
        platform = _platform(body)
        chat = self._stage.store.chat(platform, str(body.get("chat", "")))
        if body.get("thread") in (None, ""):
            self._stage.store.remove_chat(chat)
        else:
            self._wires[platform].remove_thread(chat, str(body["thread"]))
        return {}

    def _person(self, key: str) -> Person:
        people = [person.key for person in self._stage.world.people if person.key != BOT]
        if key not in people:
            raise Invalid(f"user must be one of {', '.join(people)}")
        return self._stage.world.person(key)

    def routes(self) -> list[web.RouteDef]:
        async def show(_: web.Request) -> web.Response:
            return web.json_response(self.state())

        return [
            web.get("/state", show),
            web.post("/say", _answering(self.say)),
            web.post("/faults", _answering(self.arm)),
            web.post("/remove", _answering(self.remove)),
        ]


def _platform(body: Mapping[str, Any]) -> Platform:
    if body.get("platform") not in PLATFORMS:
        raise Invalid(f"platform must be one of {', '.join(PLATFORMS)}")
    return cast("Platform", body["platform"])


def _answering(verb: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.host:
            return web.json_response({"error": "only the simulator's own page may do this"}, status=403)
        try:
            body = json.loads(await request.text())
        except ValueError:
            return web.json_response({"error": "the body must be JSON"}, status=400)
        if not isinstance(body, dict):
            return web.json_response({"error": "the body must be a JSON object"}, status=400)
        try:
            return web.json_response(verb(body))
        except Invalid as invalid:
            return web.json_response({"error": str(invalid)}, status=422)
        except Missing as missing:
            return web.json_response({"error": str(missing)}, status=404)

    return handle
