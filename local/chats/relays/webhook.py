"""The webhook function as a relay sees it: an event is handed over until the service has it."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import aiohttp

from local.chats.relays.base import Backoff

log = logging.getLogger(__name__)

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
# The event itself is refused: another try is refused as well, and would hold up all that follow.
_FINAL = frozenset({400, 413, 415, 422})
_SECONDS = 15
_STALE_SECONDS = 240  # webhooks accept signatures for five minutes


class Signer(Protocol):
    """The headers by which the webhook knows an event as the platform's own; made anew for each try, as they age."""

    def __call__(self, raw: bytes, *, now: int) -> Mapping[str, str]: ...


@dataclass(frozen=True)
class Handed:
    """What became of an event: the service has it, or refuses it for good. `body` is the webhook's answer."""

    accepted: bool
    body: bytes = b""


class Webhook:
    """`POST <api>/webhooks/<platform>`, signed."""

    def __init__(
        self,
        api_url: str,
        platform: str,
        sign: Signer,
        *,
        pauses: Callable[[], Backoff] = Backoff,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._url = f"{api_url.rstrip('/')}/webhooks/{platform}"
        self._platform = platform
        self._sign = sign
        self._pauses = pauses
        self._clock = clock

    async def hand(
        self,
        session: aiohttp.ClientSession,
        raw: bytes,
        *,
        event: str,
        kind: str = JSON,
        headers: Mapping[str, str] | None = None,
        only_now: bool = False,
    ) -> Handed:
        """Post until the service answers 2xx (or refuses this very event); `event` names it in the log.

        `only_now`: the time of its signature is what the event is known by. It keeps that, and is given up when it ages.
        """
        backoff = self._pauses()
        began = self._clock()
        while True:
            signed_at = began if only_now else self._clock()
            signed = {**(headers or {}), **self._sign(raw, now=int(signed_at * 1000)), "Content-Type": kind}
            try:
                timeout = aiohttp.ClientTimeout(total=_SECONDS)
                async with session.post(self._url, data=raw, headers=signed, timeout=timeout) as answer:
                    body = await answer.read()
                    status = answer.status
            except (aiohttp.ClientError, OSError) as error:
                why = f"it cannot be reached ({type(error).__name__})"
            else:
                if 200 <= status < 300:
                    return Handed(accepted=True, body=body)
                if status in _FINAL:
                    log.error("%s event %s is refused by the webhook (%s) and left out", self._platform, event, status)
                    return Handed(accepted=False, body=body)
                why = f"it answered {status}" + (" (do both have the same secret?)" if status == 401 else "")
            if only_now and self._clock() - began > _STALE_SECONDS:
                log.error("%s event %s is too old by now and left out: %s", self._platform, event, why)
                return Handed(accepted=False)
            log.warning("%s event %s waits for the webhook: %s", self._platform, event, why)
            await backoff.pause()
