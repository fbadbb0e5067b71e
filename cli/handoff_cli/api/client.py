"""The HTTP contract: one method per call."""

import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from handoff_cli.api.transport import Json, Transport
from handoff_cli.errors import Refused

_SESSION = ("id", "owner", "epoch", "message_count")
_LINK = ("id", "platform", "user", "code", "text")
_HANDOFF = ("id", "session_id", "platform", "done")


class Service(Transport):
    """A client of the service. Every call may raise Unreachable or Refused."""

    def health(self) -> Json:
        """Check that a Handoff service answers. Needs no token."""
        return self.call("GET", "/health")

    def platforms(self) -> list[Json]:
        """Each platform with `supported`, `configured`, `home` and `threads`."""
        return list(self.call("GET", "/platforms", needs=("platforms",))["platforms"])

    def set_home(self, platform: str, chat: str) -> Json:
        """Set the chat where handoffs to this platform arrive."""
        return self.call("PUT", f"/platforms/{_quoted(platform)}/home", {"chat": chat}, needs=("platform", "chat"))

    def create_link(self, platform: str, *, home: bool = False) -> Json:
        """A code that links the account from which the bot gets it, and with `home` moves the home. A repeat replaces it."""
        return self.call("POST", "/links", {"platform": platform, "home": home}, needs=_LINK)

    def links(self) -> list[Json]:
        """The user's newest codes, without their plaintext."""
        return list(self.call("GET", "/links", needs=("links",))["links"])

    def unlink(self, platform: str) -> None:
        """Unlink the user's accounts on a platform."""
        self.call("DELETE", f"/links/{_quoted(platform)}")

    def invite(self, name: str, platform: str) -> Json:
        """A code with which another person becomes a user. A repeat replaces it."""
        return self.call("POST", "/invitations", {"name": name, "platform": platform}, needs=_LINK)

    def login(self, code: str, key: str) -> Json:
        """The first token. A repeat with the same key gives the same one."""
        return self.call("POST", "/logins", {"code": code, "key": key}, needs=("user", "token"))

    def post_notice(self, text: str, platform: str | None, *, key: str) -> Json:
        """Post a text in the home chat: on this platform, or on the first one with a home. Once per key."""
        body = {"text": text, **({"platform": platform} if platform else {})}
        return self.call("POST", "/notices", body, headers={"idempotency-key": key}, needs=("link",))

    def put_session(self, session_id: str, about: Mapping[str, Any]) -> Json:
        """Create the session, or change its metadata."""
        return self.call("PUT", f"/sessions/{_quoted(session_id)}", about, needs=_SESSION)

    def session(self, session_id: str, *, wait: float = 0.0, seen: str | None = None) -> Json:
        """One session. With `wait` a service that can holds the request, until there is a version other than `seen`."""
        return self.call("GET", f"/sessions/{_quoted(session_id)}{_held(wait, seen)}", needs=_SESSION)

    def sessions(self) -> Iterator[Json]:
        """All sessions of the user, newest first, fetched page by page."""
        yield from self._pages("/sessions?limit=100", "sessions", "cursor")

    def messages(self, session_id: str, *, after: int = 0) -> Iterator[Json]:
        """The transcript after a position, fetched page by page."""
        path = f"/sessions/{_quoted(session_id)}/messages?limit=200"
        yield from self._pages(path, "messages", "after", start=after)

    def append(self, session_id: str, body: bytes) -> Json:
        """Append messages. The body names the position, so a repeated call appends nothing twice."""
        return self.call("POST", f"/sessions/{_quoted(session_id)}/messages", body, needs=("message_count",))

    def announce_file(self, session_id: str, file: Mapping[str, Any]) -> Json:
        """How to upload the bytes of a file, in `upload`; None if the session has them. May be repeated."""
        asked = {key: file[key] for key in ("sha256", "size", "type", "name")}
        return self.call("POST", f"/sessions/{_quoted(session_id)}/files", asked, needs=("id", "upload"))

    def start_turn(self, session_id: str, *, epoch: int, turn_id: str, text: str) -> Json:
        """Send a message to the agent; its reply appears in the transcript. The id makes it idempotent."""
        return self.call(
            "POST", f"/sessions/{_quoted(session_id)}/turns", {"epoch": epoch, "id": turn_id, "text": text}
        )

    def resume(self, session_id: str, *, epoch: int, fork: bool = False) -> Json:
        """Move the session to this terminal, or copy it. A move is not retried: the first call may have succeeded."""
        path = f"/sessions/{_quoted(session_id)}/resume"
        if not fork:
            return self.call("POST", path, {"epoch": epoch}, needs=_SESSION, tries=1)
        key = {"idempotency-key": uuid.uuid4().hex}  # a repeat goes on with the same copy
        return self.call("POST", path, {"epoch": epoch, "fork": True}, headers=key, needs=_SESSION)

    def request_handoff(self, body: Mapping[str, Any], *, key: str) -> Json:
        """Request a handoff; repeated with the same key it returns the first one."""
        return self.call("POST", "/handoffs", body, headers={"idempotency-key": key}, needs=_HANDOFF)

    def handoff(self, handoff_id: str, *, wait: float = 0.0, seen: str | None = None) -> Json:
        """One handoff. With `wait` a service that can holds the request, until there is a version other than `seen`."""
        return self.call("GET", f"/handoffs/{_id(handoff_id)}{_held(wait, seen)}", needs=_HANDOFF)

    def handoffs(self, query: Mapping[str, str] | None = None) -> list[Json]:
        """The user's handoffs, newest first."""
        return list(self.call("GET", f"/handoffs?{urlencode(query or {})}", needs=("handoffs",))["handoffs"])

    def cancel(self, handoff_id: str) -> Json:
        """Cancel a handoff that has not moved the session yet."""
        return self.call("DELETE", f"/handoffs/{_id(handoff_id)}", needs=_HANDOFF)

    def doctor(self) -> Json:
        """The service's own checks; changes nothing."""
        return self.call("GET", "/doctor")

    def tokens(self) -> Json:
        """The user's tokens, and in `current` the id of the one in use."""
        return self.call("GET", "/tokens", needs=("tokens", "current"))

    def create_token(self, body: Mapping[str, Any]) -> Json:
        """Create a token. Not retried: a second one would be left over."""
        return self.call("POST", "/tokens", body, needs=("id", "token"), tries=1)

    def revoke_token(self, token_id: str, *, unlink: bool = False) -> list[Json]:
        """Revoke a token of the user; the accounts that it has linked. With `unlink`, they are unlinked."""
        query = "?unlink=true" if unlink else ""
        return list(self.call("DELETE", f"/tokens/{_quoted(token_id)}{query}", needs=("accounts",))["accounts"])

    def runners(self) -> list[Json]:
        """The user's runners with `id`, `name`, `agents`, `last_seen`, `online` and `revoked`."""
        return list(self.call("GET", "/runners", needs=("runners",))["runners"])

    def revoke_runner(self, runner_id: str) -> None:
        """Revoke a runner of the user; its turns are taken back."""
        self.call("DELETE", f"/runners/{_quoted(runner_id)}")

    def _pages(self, path: str, name: str, mark: str, *, start: int | str = "") -> Iterator[Json]:
        position: int | str | None = start
        while position is not None:
            address = path if position == "" else f"{path}&{mark}={quote(str(position), safe='')}"
            page = self.call("GET", address, needs=(name,))
            yield from page[name]
            position = page.get("next")


def _quoted(name: str) -> str:
    return quote(name, safe="")


def _held(wait: float, seen: str | None) -> str:
    """The query of a request that may be held. Older services ignore it."""
    if wait <= 0:
        return ""
    return "?" + urlencode({"wait": f"{wait:g}", **({"seen": seen} if seen else {})})


def _id(name: str) -> str:
    """The id of a handoff. Raises Refused, as the service would, for text that cannot be one."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        return name
    detail = "This is not the id of a handoff. List yours with: handoff status"
    raise Refused({"code": "unknown_handoff", "detail": detail}, status=404)
