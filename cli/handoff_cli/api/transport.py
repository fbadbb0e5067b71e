"""HTTP calls with safe retries; the result is JSON or an error of one sentence."""

import json
import ssl
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from handoff_cli import __version__
from handoff_cli.api import failures
from handoff_cli.backoff import backoff
from handoff_cli.config.sources import Configuration, is_loopback
from handoff_cli.errors import Unreachable

Json = dict[str, Any]

READ_SECONDS = 30.0
_LONGEST_HOLD = 25.0
_CONNECT_SECONDS = 5.0
_TRIES = 4
_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 30.0
_TRANSIENT = frozenset({429, 502, 503, 504})


class Transport:
    """A connection pool to one service with one token. The service may hold a request for `longest_wait` seconds."""

    def __init__(
        self,
        configuration: Configuration,
        *,
        sleep: Callable[[float], None] = time.sleep,
        read_seconds: float = READ_SECONDS,
    ) -> None:
        self.configuration = configuration
        self._sleep = sleep
        self._answered = False
        self.longest_wait = min(_LONGEST_HOLD, read_seconds * 0.8)
        headers = {"accept": "application/json", "user-agent": f"handoff-cli/{__version__}"}
        if configuration.token:
            headers["authorization"] = f"Bearer {configuration.token}"
        with failures.translate_errors(configuration):
            self._client = httpx.Client(
                base_url=configuration.url,
                headers=headers,
                timeout=httpx.Timeout(read_seconds, connect=min(_CONNECT_SECONDS, read_seconds)),
                verify=trust(configuration.url),
                # Never use a proxy to reach this machine.
                trust_env=not is_loopback(configuration.url),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        needs: tuple[str, ...] = (),
        tries: int = _TRIES,
    ) -> Json:
        """The answer's JSON, with the keys in `needs`. Retries; use `tries=1` for a call that is not idempotent."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {**(headers or {}), **({"content-type": "application/json"} if content is not None else {})}
        for left in reversed(range(tries)):
            try:
                with failures.translate_errors(self.configuration):
                    answer = self._client.request(method, path, content=content, headers=sent)
            except Unreachable:
                # Retry only if the service has answered before: otherwise it is probably not running.
                if not left or not self._answered:
                    raise
                self._sleep(backoff(tries - left, first=_FIRST_PAUSE))
                continue
            if _is_transient(answer) and left and (pause := _pause(answer, tries - left)) <= _LONGEST_PAUSE:
                self._sleep(pause)
                continue
            self._answered = True
            return failures.parse_answer(answer, self.configuration, needs=needs)
        raise AssertionError("unreachable: the last try returns or raises")


def trust(url: str) -> ssl.SSLContext:
    """Trusted authorities: the system's (or SSL_CERT_FILE) and the ones that httpx brings."""
    if not url.startswith("https:"):
        # Loading authorities takes longer than the whole call; this empty context is never used.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context


def _is_transient(answer: httpx.Response) -> bool:
    """Throttled, a gateway error, or a write conflict with a concurrent request."""
    return answer.status_code in _TRANSIENT or (answer.status_code == 409 and b'"conflict"' in answer.content)


def _pause(answer: httpx.Response, tried: int) -> float:
    try:
        seconds: float = max(0.0, float(str(answer.headers.get("retry-after", ""))))
    except ValueError:
        return backoff(tried, first=_FIRST_PAUSE)
    return seconds
