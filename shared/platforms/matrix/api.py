"""Calls to a Matrix homeserver, with its errors as PlatformErrors. Imported on the first call."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import httpx

from shared.domain.files import ChatFile, OutFile
from shared.errors import PlaceGone, PlatformError, RateLimited, Rejected
from shared.platforms.answers import DEFAULT_RETRY_AFTER, Shape, fits, retry_after
from shared.platforms.downloads import Source, download, origins, reference_of
from shared.platforms.http_api import HttpApi, Lost
from shared.platforms.matrix.inbound import FILE
from shared.platforms.uploads import SECONDS as UPLOAD_SECONDS
from shared.platforms.uploads import FileReader, posted_name

Json = Mapping[str, Any]

# A delivery has 30 s for three posts, each with a look at its thread, and two reads between them.
_SECONDS = 4.0
_TYPING_SECONDS = 3.0
_TYPING_MILLISECONDS = 6_000  # longer than the pause between two calls; nothing else ends it
_PAGE = 100
_MOST_PAGES = 5
_CODE = re.compile(r"[A-Z][A-Z0-9_.]{1,60}")
_CONTENT = re.compile(rf"mxc://{FILE.pattern}")
_REFUSAL = {"errcode": _CODE, "error?": str | None}
_EVENT = {
    "event_id": str,
    "sender": str,
    "type": str,
    "content": dict,
    "origin_server_ts": int,
    "unsigned?": ({"redacted_because?": dict}, type(None)),
}
_EVENTS = {"chunk": [{"event_id": str, "sender": str, "content": dict}], "end?": str, "next_batch?": str}
_LEVELS = {"users?": dict, "users_default?": int, "events?": dict, "events_default?": int}

_NOT_THERE = "The bot is not in this Matrix room. Invite it"
_WHY = {
    "M_UNKNOWN_TOKEN": "The homeserver does not accept the bot's token",
    "M_MISSING_TOKEN": "The homeserver does not accept the bot's token",
    "M_USER_DEACTIVATED": "The bot's account is deactivated, so its token is void",
    "M_TOO_LARGE": "It is too large for the Matrix homeserver",
    "M_FORBIDDEN": "The bot may not do this in the Matrix room. Give it the power level to send messages",
}


class Api(HttpApi):
    """One bot on its homeserver."""

    server = "The Matrix homeserver"

    def __init__(self, url: str, token: str) -> None:
        super().__init__(f"{url.rstrip('/')}/_matrix")
        self._token = token
        self._source = Source(self.server, origins(url), self.headers)

    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self._token}"}

    def refusal(self, response: httpx.Response, said: Any, _: Lost) -> PlatformError | None:
        if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
            if not fits(said, {"retry_after_ms": None}):
                return None  # newer homeservers say it in a header
            milliseconds = said["retry_after_ms"]
            seconds = retry_after(milliseconds / 1000 if isinstance(milliseconds, int) else None)
            return RateLimited(seconds or DEFAULT_RETRY_AFTER)
        if not response.is_client_error or not fits(said, _REFUSAL):
            return None
        code, error = said["errcode"], said.get("error") or ""
        if code == "M_NOT_FOUND":
            return _NotFound("The Matrix room or message no longer exists")
        if code == "M_FORBIDDEN" and "not in room" in error:
            return PlaceGone(_NOT_THERE)
        return Rejected(_WHY.get(code, f"The Matrix homeserver refused it ({code})"))

    def me(self, *, seconds: float = _SECONDS) -> str:
        """The bot's id."""
        return str(self._get("/v3/account/whoami", {"user_id": str}, seconds=seconds)["user_id"])

    def send(self, room: str, transaction: str, content: Json) -> str:
        """Post a message. A second call with the same transaction posts nothing, unless the server was restarted."""
        path = f"{_room(room)}/send/m.room.message/{_part(transaction)}"
        return str(self._change("PUT", path, content, {"event_id": str})["event_id"])

    def upload(self, file: OutFile) -> str:
        """Store a file on the homeserver; returns its address there. Nothing is posted by this."""
        reader = FileReader(file)
        made = self.call(
            "POST",
            "/media/v3/upload",
            {"content_uri": _CONTENT},
            seconds=UPLOAD_SECONDS,
            changes=False,
            params={"filename": posted_name(file.name)},
            headers={"Content-Type": reader.media_type},
            content=reader,
        )
        return str(made["content_uri"])

    def fetch_file(self, file: ChatFile, *, limit: int) -> Iterator[bytes]:
        path = reference_of(file, FILE.pattern)
        return download(self._http, self._source, f"{self._url}/client/v1/media/download/{path}", file, limit=limit)

    def event(self, room: str, event: str) -> Json | None:
        """An event, or None if there is none that the bot may see."""
        return self._find(f"{_room(room)}/event/{_part(event)}", _EVENT)

    def messages(self, room: str, thread: str | None) -> Iterator[Json]:
        """The events of a room, or of a thread in it, newest first; at most _MOST_PAGES pages."""
        if thread is None:
            path, following = f"{_room(room)}/messages", "end"
        else:
            path = f"{_room(room).replace('/v3', '/v1', 1)}/relations/{_part(thread)}/m.thread"
            following = "next_batch"
        start: str | None = None
        for _ in range(_MOST_PAGES):
            asked = {"dir": "b", "limit": str(_PAGE), **({"from": start} if start else {})}
            page = self._get(path, _EVENTS, query=asked)
            yield from page["chunk"]
            start = page.get(following)
            if not start or not page["chunk"]:
                return

    def members(self, room: str, *, seconds: float = _SECONDS) -> frozenset[str]:
        """The people who have joined the room, with the bot."""
        return frozenset(self._get(f"{_room(room)}/joined_members", {"joined": dict}, seconds=seconds)["joined"])

    def is_encrypted(self, room: str, *, seconds: float = _SECONDS) -> bool:
        return self._find(f"{_room(room)}/state/m.room.encryption/", {"algorithm": str}, seconds=seconds) is not None

    def may_send(self, room: str, me: str, *, seconds: float = _SECONDS) -> bool:
        """Whether the bot has the power level for messages; a room without levels leaves it to all."""
        levels = self._find(f"{_room(room)}/state/m.room.power_levels/", _LEVELS, seconds=seconds) or {}
        own = levels.get("users", {}).get(me, levels.get("users_default", 0))
        needed = levels.get("events", {}).get("m.room.message", levels.get("events_default", 0))
        return not (isinstance(own, int) and isinstance(needed, int)) or own >= needed

    def pushers(self, *, seconds: float) -> list[str]:
        """The addresses to which the homeserver pushes the bot's messages."""
        shape = {"pushers": [{"kind?": str | None, "data?": ({"url?": str}, type(None))}]}
        found = self._get("/v3/pushers", shape, seconds=seconds)["pushers"]
        urls = [(pusher.get("data") or {}).get("url") for pusher in found if pusher.get("kind") == "http"]
        return [url for url in urls if url]

    def set_pusher(self, url: str, secret: str) -> None:
        """Let the homeserver push the bot's messages to this address, with the secret as their key."""
        pusher = {
            "kind": "http",
            "app_id": "live.handoff",
            "pushkey": secret,
            "app_display_name": "Handoff",
            "device_display_name": "Handoff",
            "lang": "en",
            "data": {"url": url},
        }
        self._change("POST", "/v3/pushers/set", pusher, dict)

    def join(self, room: str) -> None:
        self._change("POST", f"{_room(room)}/join", {}, {"room_id": str})

    def leave(self, room: str, reason: str) -> None:
        self._change("POST", f"{_room(room)}/leave", {"reason": reason}, dict)

    def typing(self, room: str, me: str) -> None:
        body = {"typing": True, "timeout": _TYPING_MILLISECONDS}
        self._change("PUT", f"{_room(room)}/typing/{_part(me)}", body, dict, seconds=_TYPING_SECONDS)

    def _get(
        self, path: str, shape: Shape, *, query: Mapping[str, str] | None = None, seconds: float = _SECONDS
    ) -> Json:
        found: Json = self.call("GET", f"/client{path}", shape, seconds=seconds, changes=False, params=query)
        return found

    def _find(self, path: str, shape: Shape, *, seconds: float = _SECONDS) -> Json | None:
        try:
            return self._get(path, shape, seconds=seconds)
        except _NotFound:
            return None

    def _change(self, method: str, path: str, body: Json, shape: Shape, *, seconds: float = _SECONDS) -> Json:
        made: Json = self.call(method, f"/client{path}", shape, seconds=seconds, json=body)
        return made


class _NotFound(PlaceGone):
    """There is no such event or state."""


def _room(room: str) -> str:
    return f"/v3/rooms/{_part(room)}"


def _part(text: str) -> str:
    return quote(text, safe="")
