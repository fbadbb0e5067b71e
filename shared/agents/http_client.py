"""One POST over httpx that ends before its deadline, however slowly the answer trickles in."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from shared.agents.attempts import OUT_OF_TIME, Busy
from shared.errors import AgentFailed
from shared.ports.clock import Clock
from shared.ports.secrets import Secrets

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 30.0  # an answer that has begun and then says nothing for so long was cut off
LARGEST_BODY = 16 * 1024 * 1024
UNREACHABLE = "The agent's server cannot be reached."
CUT_OFF = "The agent's server broke off in the middle of its answer."
BAD_URL = "The agent's address is not usable. Whoever runs this service sets HANDOFF_AGENT_URL to an http(s) URL."
BAD_KEY = "The agent's key holds what no key can hold. Whoever runs this service sets the secret agent/key anew."


@dataclass(frozen=True)
class Answer:
    """What came back; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON, or None where it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


def agent_key(secrets: Secrets) -> str | None:
    """The secret `agent/key`, or None. Raises AgentFailed for one that would end up in an error about bad headers."""
    key = (secrets.get("agent/key") or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise AgentFailed(BAD_KEY)
    return key or None


def post(
    client: httpx.Client, url: str, body: bytes, headers: Mapping[str, str], *, deadline: int, clock: Clock
) -> Answer:
    """Send and read all of the answer. Raises Busy for whatever the network did, AgentFailed for a useless URL."""
    seconds = max(0.001, (deadline - clock.now()) / 1000)
    timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
    sent = {"content-type": "application/json", "user-agent": "handoff", **headers}
    try:
        with client.stream("POST", url, content=body, headers=sent, timeout=timeout) as response:
            # httpx counts its time-out anew for each read: from here on silence is short, and the deadline is ours.
            response.request.extensions["timeout"]["read"] = min(seconds, SILENCE_SECONDS)
            whole = _read(response, deadline, clock)
            return Answer(response.status_code, {k.lower(): v for k, v in response.headers.items()}, whole)
    except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        raise AgentFailed(BAD_URL) from error
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
        raise Busy(UNREACHABLE) from error
    except httpx.TimeoutException as error:
        raise Busy(OUT_OF_TIME if clock.now() >= deadline else CUT_OFF) from error
    except (httpx.TransportError, httpx.DecodingError) as error:
        raise Busy(CUT_OFF) from error


def _read(response: httpx.Response, deadline: int, clock: Clock) -> bytes:
    whole = bytearray()
    for piece in response.iter_bytes():
        whole += piece
        if clock.now() >= deadline:
            raise Busy(OUT_OF_TIME)
        if len(whole) > LARGEST_BODY:
            raise AgentFailed("The agent's server answers without end. Whoever runs this service checks its address.")
    return bytes(whole)
