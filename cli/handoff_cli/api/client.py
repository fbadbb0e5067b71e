"""The HTTP contract, call by call."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from handoff_cli.api.transport import Json, Transport
from handoff_cli.errors import Refused

_SESSION = ("id", "owner", "epoch", "message_count")
_HANDOFF = ("id", "session_id", "platform", "done")


class Service(Transport):
    """What the service can be asked. Every call may raise Unreachable or Refused."""

    def health(self) -> Json:
        """Is it there, and is it Handoff? Needs no token."""
        return self.call("GET", "/health")

    def platforms(self) -> list[Json]:
        """Each platform with `supported`, `configured`, `home` and `threads`."""
        return list(self.call("GET", "/platforms", needs=("platforms",))["platforms"])

    def set_home(self, platform: str, chat: str) -> Json:
        """From now on handoffs to this platform arrive in this chat."""
        return self.call("PUT", f"/platforms/{_part(platform)}/home", {"chat": chat}, needs=("platform", "chat"))

    def put_session(self, session_id: str, about: Mapping[str, Any]) -> Json:
        """Creates the session, or changes what is known about it."""
        return self.call("PUT", f"/sessions/{_part(session_id)}", about, needs=_SESSION)

    def session(self, session_id: str) -> Json:
        """One session as it is now."""
        return self.call("GET", f"/sessions/{_part(session_id)}", needs=_SESSION)

    def sessions(self) -> Iterator[Json]:
        """All of the person's sessions, newest first, fetched as they are asked for."""
        yield from self._pages("/sessions?limit=100", "sessions", "cursor")

    def messages(self, session_id: str, *, after: int = 0) -> Iterator[Json]:
        """The transcript from a place on, fetched as it is asked for."""
        path = f"/sessions/{_part(session_id)}/messages?limit=200"
        yield from self._pages(path, "messages", "after", start=after)

    def append(self, session_id: str, body: bytes) -> Json:
        """Adds messages; the body names the place, so a repeated call adds nothing twice."""
        return self.call("POST", f"/sessions/{_part(session_id)}/messages", body, needs=("message_count",))

    def start_turn(self, session_id: str, *, epoch: int, turn_id: str, text: str) -> Json:
        """Says something to the agent; the reply appears in the transcript."""
        return self.call("POST", f"/sessions/{_part(session_id)}/turns", {"epoch": epoch, "id": turn_id, "text": text})

    def resume(self, session_id: str, *, epoch: int, fork: bool = False) -> Json:
        """Takes the session back to this terminal, or copies it. Not repeated: the first may have worked."""
        body: Json = {"epoch": epoch, "fork": True} if fork else {"epoch": epoch}
        return self.call("POST", f"/sessions/{_part(session_id)}/resume", body, needs=_SESSION, tries=1)

    def delete_session(self, session_id: str) -> None:
        """Removes the session and its transcript."""
        self.call("DELETE", f"/sessions/{_part(session_id)}")

    def request_handoff(self, body: Mapping[str, Any], *, key: str) -> Json:
        """Asks for a handoff; the same key never makes a second one."""
        return self.call("POST", "/handoffs", body, headers={"idempotency-key": key}, needs=_HANDOFF)

    def handoff(self, handoff_id: str) -> Json:
        """One handoff as it is now."""
        return self.call("GET", f"/handoffs/{_id(handoff_id)}", needs=_HANDOFF)

    def handoffs(self, query: Mapping[str, str] | None = None) -> list[Json]:
        """The person's handoffs, newest first."""
        return list(self.call("GET", f"/handoffs?{urlencode(query or {})}", needs=("handoffs",))["handoffs"])

    def cancel(self, handoff_id: str) -> Json:
        """Stops a handoff that has not moved the session yet."""
        return self.call("DELETE", f"/handoffs/{_id(handoff_id)}", needs=_HANDOFF)

    def doctor(self) -> Json:
        """What the service finds when it looks at its platforms; changes nothing."""
        return self.call("GET", "/doctor")

    def _pages(self, path: str, name: str, mark: str, *, start: int | str = "") -> Iterator[Json]:
        following: int | str | None = start
        while following is not None:
            address = path if following == "" else f"{path}&{mark}={quote(str(following), safe='')}"
            page = self.call("GET", address, needs=(name,))
            yield from page[name]
            following = page.get("next")


def _part(name: str) -> str:
    return quote(name, safe="")


def _id(name: str) -> str:
    """A handoff's id; what cannot be one is answered like one that does not exist."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        return name
    detail = "That is not a handoff's id. See yours with: handoff status"
    raise Refused({"code": "unknown_handoff", "detail": detail}, status=404)
