"""Calls to a platform over plain HTTP: time-outs, rate limits, refusals, and answers that cannot be read."""

import logging
from collections.abc import Mapping
from functools import cache
from typing import Any

import httpx

from shared.errors import Ambiguous, NotSent, PlatformError, RateLimited
from shared.platforms.answers import DEFAULT_RETRY_AFTER, Shape, fits, retry_after
from shared.platforms.spec import is_loopback

_CONNECT_SECONDS = 5.0
_tls = cache(httpx.create_ssl_context)  # takes as long as ten calls, so all clients share one

Lost = type[Ambiguous] | type[NotSent]
"""The error of a call without a readable answer: one that only reads had no effect."""


def new_client(url: str, *, trust_env: bool = True) -> httpx.Client:
    """A client for the servers of one platform, whose API is at this address."""
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)  # at INFO they log the ids of chats and messages
    return httpx.Client(trust_env=trust_env and not is_loopback(url), verify=_tls())


class HttpApi:
    """The base of a platform's API. Calls block, raise only PlatformErrors, and may come from several threads.

    `server` is the other side in texts for people.
    """

    server: str

    def __init__(self, url: str, *, trust_env: bool = True) -> None:
        """Without `trust_env`, a proxy from the environment is never used."""
        self._url = url.rstrip("/")
        self._http = new_client(url, trust_env=trust_env)

    def headers(self) -> Mapping[str, str]:
        """Those of each call."""
        return {}

    def refusal(self, response: httpx.Response, said: Any, lost: Lost) -> PlatformError | None:
        """The error for an answer that is not of the wanted shape; None if it cannot be read.

        `said` is its JSON, if it is any. Raising nothing, and quoting nothing that may be the page of a proxy.
        """
        raise NotImplementedError

    def call(self, method: str, path: str, shape: Shape, *, seconds: float, changes: bool = True, **more: Any) -> Any:
        """The JSON of the answer, which is of this shape. `more` is `json`, `params`, `headers`, `data`, `files` or `content`.

        A call that `changes` something may have done so although no readable answer came.
        """
        lost: Lost = Ambiguous if changes else NotSent
        timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        headers = {**self.headers(), **more.pop("headers", {})}
        try:
            response = self._http.request(method, self._url + path, headers=headers, timeout=timeout, **more)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):
            raise NotSent(f"{self.server} cannot be reached") from None
        except (httpx.HTTPError, httpx.InvalidURL):
            raise lost(f"{self.server} did not answer") from None
        try:
            said = response.json()
        except (ValueError, RecursionError):
            said = None
        if response.is_success and said is not None and fits(said, shape):
            return said
        if (error := self.refusal(response, said, lost)) is not None:
            raise error
        if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
            raise RateLimited(retry_after(response.headers.get("Retry-After")) or DEFAULT_RETRY_AFTER)
        raise lost(f"{self.server} gave an answer that could not be read (HTTP {response.status_code})")

    def close(self) -> None:
        self._http.close()
