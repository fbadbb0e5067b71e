"""Tracks whether a request to Discord was sent, to tell what a missing answer means."""

from dataclasses import dataclass
from types import SimpleNamespace

import aiohttp

from shared.errors import Ambiguous, NotSent, PlatformError, RateLimited
from shared.platforms.answers import retry_after


@dataclass
class Attempt:
    """One request; `sent` is set once its headers were written."""

    method: str
    sent: bool = False

    def lost(self, why: str) -> PlatformError:
        """The error for a request without an answer: one that only reads, or was not sent, had no effect."""
        return Ambiguous(why) if self.sent and self.method != "GET" else NotSent(why)


def traced() -> aiohttp.TraceConfig:
    """Hooks into discord.py's requests: record what is sent, and raise where discord.py would sleep and retry."""
    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(_starting)
    trace.on_request_headers_sent.append(_leaving)
    trace.on_request_end.append(_answered)
    trace.on_request_exception.append(_broken)
    return trace


def _attempt(context: SimpleNamespace) -> Attempt:
    given = context.trace_request_ctx
    return given if isinstance(given, Attempt) else Attempt("GET")  # the login, which only reads


async def _starting(_: aiohttp.ClientSession, context: SimpleNamespace, __: aiohttp.TraceRequestStartParams) -> None:
    _attempt(context).sent = False


async def _leaving(
    _: aiohttp.ClientSession, context: SimpleNamespace, __: aiohttp.TraceRequestHeadersSentParams
) -> None:
    _attempt(context).sent = True


async def _answered(_: aiohttp.ClientSession, context: SimpleNamespace, params: aiohttp.TraceRequestEndParams) -> None:
    """On a 429 discord.py would sleep for any time, on a 5xx it would repeat a post that may have arrived."""
    response = params.response
    if response.status == 429:
        asked = response.headers.get("Retry-After", response.headers.get("X-RateLimit-Reset-After"))
        raise RateLimited(retry_after(asked))
    if response.status >= 500:
        raise _attempt(context).lost(f"Discord answered {response.status}")


async def _broken(
    _: aiohttp.ClientSession, context: SimpleNamespace, params: aiohttp.TraceRequestExceptionParams
) -> None:
    """After a reset discord.py would, on some systems, repeat a post that may have arrived."""
    if isinstance(params.exception, ConnectionResetError | aiohttp.ClientOSError):
        raise _attempt(context).lost("the connection to Discord was lost") from params.exception
