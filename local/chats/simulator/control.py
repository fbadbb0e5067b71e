"""The simulator's own HTTP interface: read the state, write and press as a person, arm faults, delete threads and chats."""

import base64
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from local.chats.simulator import snapshot
from local.chats.simulator.backend import Backend
from local.chats.simulator.faults import KINDS, OPERATIONS, SECONDS, Fault, Faults
from local.chats.simulator.files import SAMPLES
from local.chats.simulator.people import BOT, Person
from local.chats.simulator.protocol import Wire
from local.chats.simulator.store import Beside, Chat, NotFound, Store, Thread

_MEDIA_TYPE = re.compile(r"[a-z]+/[A-Za-z0-9.+_-]+(; ?[a-z]+=[A-Za-z0-9_-]+)?")
_FILE_HEADERS = {"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff"}
_SAVED = {"Content-Type": "application/octet-stream", "Content-Disposition": "attachment"}
_PICTURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}


class Invalid(ValueError):
    """The request is invalid; the message tells a person why."""


class Control:
    """The operations behind the page and the tests; each takes and returns plain JSON."""

    def __init__(self, store: Store, faults: Faults, platforms: Mapping[str, tuple[Backend, Wire]]) -> None:
        self._store, self._faults, self._platforms = store, faults, platforms

    def state(self) -> dict[str, Any]:
        return snapshot.state(self._store, self._platforms)

    def say(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Write as `user` in a chat or in one of its threads, send attachments there, or forward either."""
        backend, wire = self._platform(body)
        beside, text = self._beside(wire, body), body.get("text", "")
        if not isinstance(text, str) or not (text.strip() or beside.attachments or beside.files):
            raise Invalid("text is missing: give the message to write, files, or attachments")
        person = _person(backend, str(body.get("user", "owner")))
        thread_id = _thread_id(body)
        chat, thread = wire.place(str(body.get("chat", "")), thread_id)
        _check_presence(person, chat, thread)
        message = wire.say(chat, thread, person, text, beside)
        return {"platform": backend.name, "chat": chat.id, "thread": thread_id, **snapshot.message_state(message)}

    def press(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Press a button of a message as `user`."""
        backend, wire = self._platform(body)
        person = _person(backend, str(body.get("user", "owner")))
        thread_id = _thread_id(body)
        chat, _ = wire.place(str(body.get("chat", "")), thread_id)
        thread, message = self._store.find(chat, str(body.get("message", "")))
        # A thread is also shown with the message that it hangs on, which may be outside.
        if thread_id not in (None, thread.id if thread else message.id):
            raise NotFound(f"thread {thread_id} has no message {message.id}")
        _check_presence(person, chat, thread)
        ids = [button["id"] for button in message.buttons]
        if body.get("button") not in ids:
            raise Invalid(f"button must be one of {', '.join(ids)}" if ids else "the message has no buttons")
        wire.press(chat, thread, person, message, str(body["button"]))
        return {}

    def arm(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Arm a fault for the next `count` calls; a count of zero disarms it."""
        backend, _ = self._platform(body)
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
        self._faults.arm(Fault(backend.name, kind, count, float(seconds), on))
        backend.faults_changed()
        return {"armed": [snapshot.fault_scene(fault) for fault in self._faults.armed]}

    def remove(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Delete a thread, or the whole chat if no thread is given; with `bot_only` people take the bot out of the chat."""
        backend, wire = self._platform(body)
        chat = backend.chat(str(body.get("chat", "")))
        if body.get("bot_only"):
            chat.has_bot = False
        elif body.get("thread") in (None, ""):
            self._store.remove_chat(chat)
        else:
            wire.remove_thread(chat, str(body["thread"]))
        return {}

    def forge(self, platform: str, chat_id: str, message_id: str, user: str) -> None:
        """Put in place of a message a copy by another person, with all that the protocol keeps of it (for tests)."""
        backend, wire = self._platforms[platform]
        chat = backend.chat(chat_id)
        thread, original = self._store.find(chat, message_id)
        copied = wire.say(chat, thread, backend.person(user), original.text)
        copied.extra |= {name: value for name, value in original.extra.items() if name != "ts"}
        self._store.remove_message(chat, thread, original)

    def routes(self) -> list[web.RouteDef]:
        async def show(_: web.Request) -> web.Response:
            return web.json_response(self.state())

        async def show_file(request: web.Request) -> web.Response:
            """For the page, which shows nothing but pictures; all else is saved."""
            if (data := self._store.files.content(request.match_info["id"])) is None:
                raise web.HTTPNotFound
            kind = next((kind for start, kind in _PICTURES.items() if data.startswith(start)), None)
            shown = {"Content-Type": kind} if kind and "picture" in request.query else _SAVED
            return web.Response(body=data, headers={**_FILE_HEADERS, **shown})

        return [
            web.get("/state", show),
            web.get("/files/{id}", show_file),
            web.post("/say", _endpoint(self.say)),
            web.post("/press", _endpoint(self.press)),
            web.post("/faults", _endpoint(self.arm)),
            web.post("/remove", _endpoint(self.remove)),
        ]

    def _beside(self, wire: Wire, body: Mapping[str, Any]) -> Beside:
        """A kind of attachment that is a file stands for a small file of that kind."""
        kinds, files, forwarded = body.get("attachments") or [], body.get("files") or [], body.get("forwarded", False)
        if not isinstance(kinds, list) or not all(kind in wire.attachments for kind in kinds):
            raise Invalid(f"attachments must be a list of {', '.join(wire.attachments) or 'nothing'}")
        if forwarded not in (True, False) or (forwarded and not wire.forwards):
            raise Invalid("forwarded must be true or false, and true only where the platform tells it")
        if not isinstance(files, list):
            raise Invalid("files must be a list")
        given = [*map(_given, files), *((*SAMPLES[kind], kind) for kind in kinds if kind in SAMPLES)]
        keep = self._store.files.keep
        kept = tuple(keep(name, media_type, data, kind=kind) for name, media_type, data, kind in given)
        return Beside(tuple(kind for kind in kinds if kind not in SAMPLES), forwarded, kept)

    def _platform(self, body: Mapping[str, Any]) -> tuple[Backend, Wire]:
        name = body.get("platform")
        if not isinstance(name, str) or name not in self._platforms:
            raise Invalid(f"platform must be one of {', '.join(self._platforms)}")
        return self._platforms[name]


def _thread_id(body: Mapping[str, Any]) -> str | None:
    """A thread that is named as its chat is the chat itself."""
    return str(body["thread"]) if body.get("thread") not in (None, "", body.get("chat")) else None


def _given(file: Any) -> tuple[str, str, bytes, str | None]:
    """Name, type, bytes and kind of a file of a request."""
    try:
        given = file["name"], file["type"], base64.b64decode(file["data"], validate=True), file.get("kind")
    except (TypeError, ValueError, KeyError, AttributeError):
        given = None
    if given and isinstance(given[0], str) and _MEDIA_TYPE.fullmatch(str(given[1])) and given[3] in (None, *SAMPLES):
        return given
    raise Invalid("files must be a list of {name, type, data}, with the data in base64")


def _check_presence(person: Person, chat: Chat, thread: Thread | None) -> None:
    if person.key not in (there := chat.who_sees(thread)):
        raise Invalid(f"{person.key} cannot write there; members are {', '.join(there) or 'the bot only'}")


def _person(backend: Backend, key: str) -> Person:
    people = {person.key: person for person in backend.people if person.key != BOT}
    if key not in people:
        raise Invalid(f"user must be one of {', '.join(people)}")
    return people[key]


def _endpoint(
    operation: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        try:
            body = json.loads(await request.text())
        except ValueError:
            return web.json_response({"error": "the body must be JSON"}, status=400)
        if not isinstance(body, dict):
            return web.json_response({"error": "the body must be a JSON object"}, status=400)
        try:
            return web.json_response(operation(body))
        except Invalid as invalid:
            return web.json_response({"error": str(invalid)}, status=422)
        except NotFound as missing:
            return web.json_response({"error": str(missing)}, status=404)

    return handle
