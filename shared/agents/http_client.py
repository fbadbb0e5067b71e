"""HTTP client of agents: every answer is read before the turn's deadline, or cancelled."""

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import httpx

from shared.agents.attempts import OUT_OF_TIME, ProviderBusy
from shared.agents.cancelling import Opened, cancellable
from shared.errors import AgentFailed
from shared.ports.agents import TurnInput
from shared.ports.clock import Clock
from shared.ports.secrets import Secrets

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 30.0  # an answer that has begun and then stalls for so long was cut off
LARGEST_BODY = 16 * 1024 * 1024
LARGEST_STREAM = 64 * 1024 * 1024  # each word of a stream comes with some hundred bytes around it
UNREACHABLE = "The agent's server cannot be reached."
CUT_OFF = "The agent's server closed the connection in the middle of its answer."
BAD_URL = "The agent's address is not usable. The operator must set HANDOFF_AGENT_URL to an http(s) URL."
BAD_KEY = "The agent's key has characters that no key can have. The operator must set the secret agent/key again."
ENDLESS = "The agent's server sends an endless answer. The operator must check its address."


@dataclass(frozen=True)
class HttpResponse:
    """The server's answer; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON, or None if it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


class StreamReader(Protocol):
    """Reads the body of a success while it arrives."""

    @property
    def has_begun(self) -> bool:
        """Whether the answer itself has begun. Before that, the server may be silent until the deadline."""

    def feed(self, piece: bytes) -> bool:
        """Take the next bytes; True if nothing more needs to be read."""


class HttpClient:
    """Calls an agent's server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()

    def post(
        self, turn: TurnInput, url: str, body: bytes, headers: Mapping[str, str], stream: StreamReader | None = None
    ) -> HttpResponse:
        """Post the body; the answer is given to `stream` while it arrives.

        Raises ProviderBusy for network errors, AgentFailed for an unusable URL, AgentCancelled.
        """
        reader = _Reader(turn.deadline, self._clock, stream)

        def call(opened: Opened) -> HttpResponse:
            return self._post(url, body, headers, reader, opened)

        try:
            return cancellable(call, turn.cancellation, left=reader.left)
        except TimeoutError as error:
            raise ProviderBusy(reader.why_late) from error

    def _post(
        self, url: str, body: bytes, headers: Mapping[str, str], reader: "_Reader", opened: Opened
    ) -> HttpResponse:
        def trace(event: str, info: Mapping[str, Any]) -> None:
            if event == "connection.connect_tcp.complete":
                opened(info["return_value"].get_extra_info("socket"))

        seconds = max(0.001, reader.left())
        timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
        sent = {"content-type": "application/json", "user-agent": "handoff", **headers}
        traced = {"trace": trace}
        try:
            with (
                self._client() as client,
                client.stream("POST", url, content=body, headers=sent, timeout=timeout, extensions=traced) as response,
            ):
                # httpx restarts its time-out for each read: from here on, limit silence; the reader checks the deadline.
                if reader.stream is None:
                    response.request.extensions["timeout"]["read"] = min(seconds, SILENCE_SECONDS)
                whole = reader.read(response)
                return HttpResponse(response.status_code, {k.lower(): v for k, v in response.headers.items()}, whole)
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise AgentFailed(BAD_URL) from error
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            raise ProviderBusy(UNREACHABLE) from error
        except httpx.TimeoutException as error:
            raise ProviderBusy(reader.why_late) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise ProviderBusy(CUT_OFF) from error

    def _client(self) -> httpx.Client:
        """A client for one request: Lambda freezes the process between turns, which kills open connections.

        A proxy of the environment is used, except for servers on this machine.
        """
        local = dict.fromkeys(("all://localhost", "all://127.0.0.1", "all://[::1]"))
        return httpx.Client(verify=self._context, mounts=local)


def agent_key(secrets: Secrets) -> str | None:
    """The secret `agent/key`, or None. Raises AgentFailed for one that an error about bad headers would quote."""
    key = (secrets.get("agent/key") or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise AgentFailed(BAD_KEY)
    return key or None


class _Reader:
    """Reads one answer before a deadline. One that is streamed must not pause for long once it has begun."""

    def __init__(self, deadline: int, clock: Clock, stream: StreamReader | None) -> None:
        self.stream = stream
        self._deadline = deadline
        self._clock = clock
        self._silent_until = deadline

    def left(self) -> float:
        """The seconds until the deadline, or until a silence is too long."""
        return (min(self._deadline, self._silent_until) - self._clock.now()) / 1000

    @property
    def why_late(self) -> str:
        return OUT_OF_TIME if self._clock.now() >= self._deadline else CUT_OFF

    def read(self, response: httpx.Response) -> bytes:
        whole = bytearray()
        stream = self.stream if response.status_code == httpx.codes.OK else None
        limit = LARGEST_STREAM if stream else LARGEST_BODY
        for piece in response.iter_bytes():
            whole += piece
            if self._clock.now() >= self._deadline:
                raise ProviderBusy(OUT_OF_TIME)
            if len(whole) > limit:
                raise AgentFailed(ENDLESS)
            if stream and stream.feed(piece):
                break
            if stream is None or stream.has_begun:
                self._silent_until = self._clock.now() + int(SILENCE_SECONDS * 1000)
        return bytes(whole)
