"""The HTTP contract, call by call; every way in which a call can fail becomes one sentence."""

import json
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from handoff_cli import http_failures
from handoff_cli.configuration import Configuration, is_loopback
from handoff_cli.errors import Refused, Unreachable

Json = dict[str, Any]

READ_SECONDS = 30.0
_CONNECT_SECONDS = 5.0
_TRIES = 4
_LONGEST_PAUSE = 30.0
_SESSION = ("id", "owner", "epoch", "message_count")
_HANDOFF = ("id", "session_id", "platform", "done")
_PASSING = frozenset({429, 502, 503, 504})


class Service:
    """One service with one token. Calls that are safe to repeat are repeated; the others are marked."""

    def __init__(
        self,
        configuration: Configuration,
        *,
        sleep: Callable[[float], None] = time.sleep,
        read_seconds: float = READ_SECONDS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.configuration = configuration
        self._sleep = sleep
        self._answered = False
        headers = {"accept": "application/json", "user-agent": "handoff-cli"}
        if configuration.token:
            headers["authorization"] = f"Bearer {configuration.token}"
        with http_failures.as_sentences(configuration):
            self._client = httpx.Client(
                base_url=configuration.url,
                headers=headers,
                timeout=httpx.Timeout(read_seconds, connect=min(_CONNECT_SECONDS, read_seconds)),
                verify=_trust(configuration.url),
                # No proxy stands between a machine and itself, whatever the environment says.
                trust_env=not is_loopback(configuration.url),
                transport=transport,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def health(self) -> Json:
        """Is it there, and is it Handoff? Needs no token."""
        return self._call("GET", "/health")

    def platforms(self) -> list[Json]:
        """Each platform with `supported`, `configured`, `home` and `threads`."""
        return list(self._call("GET", "/platforms", needs=("platforms",))["platforms"])

    def set_home(self, platform: str, chat: str) -> Json:
        """From now on handoffs to this platform arrive in this chat."""
        return self._call("PUT", f"/platforms/{_part(platform)}/home", {"chat": chat}, needs=("platform", "chat"))

    def put_session(self, session_id: str, about: Mapping[str, Any]) -> Json:
        """Creates the session, or changes what is known about it."""
        return self._call("PUT", f"/sessions/{_part(session_id)}", about, needs=_SESSION)

    def session(self, session_id: str) -> Json:
        """One session as it is now."""
        return self._call("GET", f"/sessions/{_part(session_id)}", needs=_SESSION)

    def sessions(self) -> Iterator[Json]:
        """All of the person's sessions, newest first, fetched as they are asked for."""
        yield from self._pages("/sessions?limit=100", "sessions", "cursor")

    def messages(self, session_id: str, *, after: int = 0) -> Iterator[Json]:
        """The transcript from a place on, fetched as it is asked for."""
        path = f"/sessions/{_part(session_id)}/messages?limit=200"
        yield from self._pages(path, "messages", "after", start=after)

    def append(self, session_id: str, body: bytes) -> Json:
        """Adds messages; the body names the place, so a repeated call adds nothing twice."""
        return self._call("POST", f"/sessions/{_part(session_id)}/messages", body, needs=("message_count",))

    def start_turn(self, session_id: str, *, epoch: int, turn_id: str, text: str) -> Json:
        """Says something to the agent; the reply appears in the transcript."""
        return self._call("POST", f"/sessions/{_part(session_id)}/turns", {"epoch": epoch, "id": turn_id, "text": text})

    def resume(self, session_id: str, *, epoch: int, fork: bool = False) -> Json:
        """Takes the session back to this terminal, or copies it. Not repeated: the first may have worked."""
        body: Json = {"epoch": epoch, "fork": True} if fork else {"epoch": epoch}
        return self._call("POST", f"/sessions/{_part(session_id)}/resume", body, needs=_SESSION, tries=1)

    def delete_session(self, session_id: str) -> None:
        """Removes the session and its transcript."""
        self._call("DELETE", f"/sessions/{_part(session_id)}")

    def request_handoff(self, body: Mapping[str, Any], *, key: str) -> Json:
        """Asks for a handoff; the same key never makes a second one."""
        return self._call("POST", "/handoffs", body, headers={"idempotency-key": key}, needs=_HANDOFF)

    def handoff(self, handoff_id: str) -> Json:
        """One handoff as it is now."""
        return self._call("GET", f"/handoffs/{_id(handoff_id)}", needs=_HANDOFF)

    def handoffs(self, query: Mapping[str, str] | None = None) -> list[Json]:
        """The person's handoffs, newest first."""
        return list(self._call("GET", f"/handoffs?{httpx.QueryParams(query or {})}", needs=("handoffs",))["handoffs"])

    def cancel(self, handoff_id: str) -> Json:
        """Stops a handoff that has not moved the session yet."""
        return self._call("DELETE", f"/handoffs/{_id(handoff_id)}", needs=_HANDOFF)

    def doctor(self) -> Json:
        """What the service finds when it looks at its platforms; changes nothing."""
        return self._call("GET", "/doctor")

    def _pages(self, path: str, name: str, mark: str, *, start: int | str = "") -> Iterator[Json]:
        following: int | str | None = start
        while following is not None:
            address = path if following == "" else f"{path}&{mark}={quote(str(following), safe='')}"
            page = self._call("GET", address, needs=(name,))
            yield from page[name]
            following = page.get("next")

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        needs: tuple[str, ...] = (),
        tries: int = _TRIES,
    ) -> Json:
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {**(headers or {}), **({"content-type": "application/json"} if content is not None else {})}
        for left in reversed(range(tries)):
            try:
                with http_failures.as_sentences(self.configuration):
                    answer = self._client.request(method, path, content=content, headers=sent)
            except Unreachable:
                # A service that never answered is not there; one that did is worth another try.
                if not left or not self._answered:
                    raise
                self._sleep(0.25 * 2.0 ** (tries - left))
                continue
            if _is_passing(answer) and left and (pause := _pause(answer, tries - left)) <= _LONGEST_PAUSE:
                self._sleep(pause)
                continue
            self._answered = True
            return http_failures.understood(answer, self.configuration, needs=needs)
        raise AssertionError("the last try returns or raises")


def _trust(url: str) -> ssl.SSLContext:
    """Whom to believe over TLS: the system's authorities (or SSL_CERT_FILE) and the ones that come with httpx."""
    if not url.startswith("https:"):
        # Loading authorities takes longer than the whole call; this context trusts nobody.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context


def _part(name: str) -> str:
    return quote(name, safe="")


def _id(name: str) -> str:
    """A handoff's id; what cannot be one is answered like one that does not exist."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        return name
    detail = "That is not a handoff's id. See yours with: handoff status"
    raise Refused({"code": "unknown_handoff", "detail": detail}, status=404)


def _is_passing(answer: httpx.Response) -> bool:
    """Too many calls, a gateway's bad moment, or a write that lost against another at the same instant."""
    return answer.status_code in _PASSING or (answer.status_code == 409 and b'"conflict"' in answer.content)


def _pause(answer: httpx.Response, tried: int) -> float:
    try:
        seconds: float = max(0.0, float(str(answer.headers.get("retry-after", ""))))
    except ValueError:
        return 0.25 * 2.0**tried
    return seconds
