"""How agents call a server over HTTP: one client per turn, every answer read before the turn's deadline."""

import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import httpx

from shared.agents.attempts import OUT_OF_TIME, ProviderBusy, converse
from shared.agents.transcript.conversation import Conversation
from shared.domain.messages import Message
from shared.errors import AgentFailed
from shared.ports.clock import Clock
from shared.ports.secrets import Secrets

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 30.0  # an answer that has begun and then stalls for so long was cut off
LARGEST_BODY = 16 * 1024 * 1024
UNREACHABLE = "The agent's server cannot be reached."
CUT_OFF = "The agent's server closed the connection in the middle of its answer."
BAD_URL = "The agent's address is not usable. The operator must set HANDOFF_AGENT_URL to an http(s) URL."
BAD_KEY = "The agent's key has characters that no key can have. The operator must set the secret agent/key again."
ENDLESS = "The agent's server sends an endless answer. The operator must check its address."


@dataclass(frozen=True)
class HttpResponse:
    """What the server answered; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON, or None if it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


Post = Callable[[str, bytes, Mapping[str, str]], HttpResponse]
"""Sends a body with headers to a URL. Raises ProviderBusy for network errors, AgentFailed for an unusable URL."""


class HttpConversations:
    """Asks an agent's server over HTTP. Opens nothing before the first turn."""

    def __init__(self, window: int, clock: Clock, pause: Callable[[float], None]) -> None:
        self._window = window
        self._clock = clock
        self._pause = pause

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()

    def reply(
        self, ask: Callable[[Conversation, Post], str], messages: Sequence[Message], *, note: str | None, deadline: int
    ) -> str:
        """The answer of `ask` to a transcript, retried as `attempts.converse` does. Raises as that does."""
        with _client(self._context) as client:

            def post(url: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
                return _post(client, url, body, headers, deadline=deadline, clock=self._clock)

            return converse(
                lambda given: ask(given, post),
                messages,
                note=note,
                window=self._window,
                deadline=deadline,
                clock=self._clock,
                pause=self._pause,
            )


def agent_key(secrets: Secrets) -> str | None:
    """The secret `agent/key`, or None. Raises AgentFailed for one that an error about bad headers would quote."""
    key = (secrets.get("agent/key") or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise AgentFailed(BAD_KEY)
    return key or None


def _client(context: ssl.SSLContext) -> httpx.Client:
    """A client for one turn: Lambda freezes the process between turns, which kills open connections.

    A proxy of the environment is used, except for servers on this machine.
    """
    local = dict.fromkeys(("all://localhost", "all://127.0.0.1", "all://[::1]"))
    return httpx.Client(verify=context, mounts=local)


def _post(
    client: httpx.Client, url: str, body: bytes, headers: Mapping[str, str], *, deadline: int, clock: Clock
) -> HttpResponse:
    seconds = max(0.001, (deadline - clock.now()) / 1000)
    timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
    sent = {"content-type": "application/json", "user-agent": "handoff", **headers}
    try:
        with client.stream("POST", url, content=body, headers=sent, timeout=timeout) as response:
            # httpx restarts its time-out for each read: from here on, limit silence; `_read` checks the deadline.
            response.request.extensions["timeout"]["read"] = min(seconds, SILENCE_SECONDS)
            whole = _read(response, deadline, clock)
            return HttpResponse(response.status_code, {k.lower(): v for k, v in response.headers.items()}, whole)
    except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        raise AgentFailed(BAD_URL) from error
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
        raise ProviderBusy(UNREACHABLE) from error
    except httpx.TimeoutException as error:
        raise ProviderBusy(OUT_OF_TIME if clock.now() >= deadline else CUT_OFF) from error
    except (httpx.TransportError, httpx.DecodingError) as error:
        raise ProviderBusy(CUT_OFF) from error


def _read(response: httpx.Response, deadline: int, clock: Clock) -> bytes:
    whole = bytearray()
    for piece in response.iter_bytes():
        whole += piece
        if clock.now() >= deadline:
            raise ProviderBusy(OUT_OF_TIME)
        if len(whole) > LARGEST_BODY:
            raise AgentFailed(ENDLESS)
    return bytes(whole)
