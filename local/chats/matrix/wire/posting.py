"""Messages, edits and threads, with the limits and error texts of a homeserver."""

import json
import re
import secrets
from collections.abc import Callable
from typing import Any

from local.chats.matrix.wire.errors import invalid, refused
from local.chats.matrix.wire.rooms import Rooms
from local.chats.simulator.backend import Backend
from local.chats.simulator.people import BOT
from local.chats.simulator.store import PLAIN, Beside, Chat, Message, NotFound, Thread

JSON = dict[str, Any]
MAX_EVENT = 65_536
_OVERHEAD = 1_000  # what the server adds: ids, hashes, signatures
ATTACHED: dict[str, JSON] = {
    "sticker": {"info": {"mimetype": "image/png", "w": 256, "h": 256}},
    "location": {"msgtype": "m.location", "geo_uri": "geo:59.91,10.75"},
    "poll": {
        "org.matrix.msc3381.poll.start": {"question": {"org.matrix.msc1767.text": "When?"}, "answers": []},
        "org.matrix.msc1767.text": "When?",
    },
}
"""The content of an event for each kind of attachment that is no file, without its body."""
FILES: dict[str, JSON] = {
    "picture": {"msgtype": "m.image"},
    "file": {"msgtype": "m.file"},
    "voice": {"msgtype": "m.audio", "org.matrix.msc3245.voice": {}},
    "audio": {"msgtype": "m.audio"},
    "video": {"msgtype": "m.video"},
}
SERVER = "chat.test"
_TYPES = {"sticker": "m.sticker", "poll": "org.matrix.msc3381.poll.start"}
_EXISTING = re.compile(r"[0-8]")


class Posting:
    """`send` is idempotent by its transaction id. Each event is given to `published`, also the bot's own."""

    def __init__(self, backend: Backend, rooms: Rooms, published: Callable[[JSON], None]) -> None:
        self._backend, self._rooms, self._published = backend, rooms, published
        self._sent: dict[tuple[str, str], str] = {}
        self._last = 0
        self.uploads: dict[str, JSON] = {}

    def send(self, room: str, transaction: str, content: JSON) -> JSON:
        chat = self._rooms.joined(room)
        if (room, transaction) not in self._sent:
            self._sent[room, transaction] = self._post(chat, content)
        return {"event_id": self._sent[room, transaction]}

    def say(self, chat: Chat, thread: Thread | None, person: str, text: str, one: Beside = PLAIN) -> Message:
        """A text, or one file or attachment."""
        content: JSON = {"msgtype": "m.text", "body": text, "m.mentions": {}}
        beside: JSON = dict(one.extra)
        if one.files:
            content = _file_content(one.files[0], text)
        elif one.attachments:
            beside["type"], content = _attached(one.attachments[0])
        if thread is not None:
            falling_back = {"is_falling_back": True, "m.in_reply_to": {"event_id": thread.id}}
            content["m.relates_to"] = {"rel_type": "m.thread", "event_id": thread.id, **falling_back}
        return self._add(chat, thread, person, text, content, **beside)

    def _post(self, chat: Chat, content: JSON) -> str:
        if len(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")) + _OVERHEAD > MAX_EVENT:
            raise refused(413, "M_TOO_LARGE", "event too large")
        if not isinstance(content.get("body"), str) or not isinstance(content.get("msgtype"), str):
            raise invalid("'body' and 'msgtype' must be texts", "M_BAD_JSON")
        relation = content.get("m.relates_to") or {}
        if relation.get("rel_type") == "m.replace":
            return self._edit(chat, relation["event_id"], content)
        thread = None
        if relation.get("rel_type") == "m.thread":
            thread = self._thread_to_reply_in(chat, relation["event_id"])
        if "url" in content:
            kept = self.uploads.get(content["url"].rpartition("/")[2])
            if kept is None:
                raise invalid("Unknown content", "M_NOT_FOUND")
            caption = content["body"] if content.get("filename", content["body"]) != content["body"] else ""
            file = {**kept, "name": content.get("filename") or content["body"]}
            return self._add(chat, thread, BOT, caption, content, files=[file]).id
        return self._add(chat, thread, BOT, content["body"], content).id

    def _thread_to_reply_in(self, chat: Chat, root: str) -> Thread:
        if root in self._rooms.redacted and root not in chat.threads:
            # A homeserver lets people go on below a deleted message.
            return self._backend.store.open_thread(chat, root, "(deleted)", BOT, starter=root)
        try:
            return self._backend.store.thread_of(chat, root)
        except NotFound:
            raise invalid("Can't send relation to unknown event") from None

    def _edit(self, chat: Chat, event_id: str, content: JSON) -> str:
        try:
            thread, message = self._backend.store.find(chat, event_id)
        except NotFound:
            raise invalid("Can't send relation to unknown event") from None
        self._backend.store.edit(chat, thread, message, content["m.new_content"]["body"])
        edit = Message(_new_id(), BOT, content["body"], 0.0, extra={"ts": self._now(), "content": content})
        self._published(self._rooms.as_event(chat, edit))
        return edit.id

    def _add(self, chat: Chat, thread: Thread | None, author: str, text: str, content: JSON, **beside: Any) -> Message:
        message = self._backend.store.post(
            chat, thread, _new_id(), author, text, content=content, ts=self._now(), **beside
        )
        self._published(self._rooms.as_event(chat, message))
        return message

    def _now(self) -> int:
        """The time of the next event, in milliseconds: later than that of the one before."""
        self._last = max(int(self._backend.clock() * 1000), self._last + 1)
        return self._last


def _new_id() -> str:
    """As in rooms of version 4 and later. It has a digit, so that tests can make another id of it."""
    while not _EXISTING.search(made := f"${secrets.token_urlsafe(32)}"):
        continue
    return made


def _attached(kind: str) -> tuple[str, JSON]:
    """The type and the content of the event for an attachment."""
    content = {**ATTACHED[kind], "m.mentions": {}}
    if kind in _TYPES:
        return _TYPES[kind], content if kind == "poll" else {**content, "body": "Wave", "url": f"mxc://{SERVER}/wave"}
    return "m.room.message", {**content, "body": "A place"}


def _file_content(file: JSON, caption: str) -> JSON:
    """The content of the event for a file. With a caption, the name is beside the body."""
    name = file["name"] or "file"
    named = {"body": caption, "filename": name} if caption else {"body": name}
    info = {"mimetype": file["type"], "size": file["size"]}
    return {
        **FILES.get(file["kind"], FILES["file"]),
        **named,
        "info": info,
        "url": f"mxc://{SERVER}/{file['id']}",
        "m.mentions": {},
    }
