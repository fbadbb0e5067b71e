"""A relay's client of the webhook function: retries each event until the service accepts it."""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import aiohttp

from shared.backoff import backoff

log = logging.getLogger(__name__)

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
# The event itself is rejected: a retry would be rejected too, and would block all later events.
_REJECTED = frozenset({400, 413, 415, 422})
_SECONDS = 15
_STALE_SECONDS = 240  # webhooks accept signatures for five minutes


class Backoff:
    """Pauses that double from `first` to `longest` seconds, with jitter so that relays do not reconnect in step."""

    def __init__(self, first: float = 0.2, longest: float = 15.0) -> None:
        self._first = first
        self._longest = longest
        self._attempts = 0

    def reset(self) -> None:
        """The next pause is the first one again."""
        self._attempts = 0

    def next(self) -> float:
        """Seconds until the next attempt."""
        self._attempts += 1
        pause = backoff(self._attempts, first=self._first, longest=self._longest)
        return pause * random.uniform(0.5, 1)  # noqa: S311  # jitter, not a secret

    async def pause(self, *, at_least: float = 0.0) -> None:
        """Wait until the next attempt."""
        await asyncio.sleep(max(at_least, self.next()))


@dataclass(frozen=True)
class Outcome:
    """The service accepted the event or rejected it for good. `body` is the webhook's answer."""

    accepted: bool
    body: bytes = b""


class Webhook:
    """`POST <api>/webhooks/<platform>`, signed."""

    def __init__(
        self,
        api_url: str,
        platform: str,
        sign: Callable[..., Mapping[str, str]],
        *,
        pauses: Callable[[], Backoff] = Backoff,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._url = f"{api_url.rstrip('/')}/webhooks/{platform}"
        self._platform = platform
        self._sign = sign
        self._pauses = pauses
        self._clock = clock

    async def forward(
        self,
        session: aiohttp.ClientSession,
        raw: bytes,
        *,
        event: str,
        kind: str = JSON,
        headers: Mapping[str, str] | None = None,
        fixed_time: bool = False,
    ) -> Outcome:
        """Post until the service answers 2xx or rejects this event; `event` identifies it in the log.

        `fixed_time`: the service identifies the event by the time of its signature, so all attempts use the first one's
        time, and the event is dropped when that expires.
        """
        pauses = self._pauses()
        started = self._clock()
        while True:
            signed_at = started if fixed_time else self._clock()
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
                    return Outcome(accepted=True, body=body)
                if status in _REJECTED:
                    log.error(
                        "%s event %s was rejected by the webhook (%s) and is dropped", self._platform, event, status
                    )
                    return Outcome(accepted=False, body=body)
                why = f"it answered {status}" + (" (do both have the same secret?)" if status == 401 else "")
            if fixed_time and self._clock() - started > _STALE_SECONDS:
                log.error("%s event %s has expired and is dropped: %s", self._platform, event, why)
                return Outcome(accepted=False)
            log.warning("%s event %s waits for the webhook: %s", self._platform, event, why)
            await pauses.pause()
