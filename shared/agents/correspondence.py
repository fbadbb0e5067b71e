"""A conversation over HTTP: one client for a turn, and every try of it before the turn's deadline."""

import ssl
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import httpx

from shared.agents.attempts import converse
from shared.agents.http_client import Answer, post
from shared.agents.transcript.conversation import Conversation
from shared.domain.messages import Message
from shared.ports.clock import Clock

Post = Callable[[str, bytes, Mapping[str, str]], Answer]
"""Sends a body with headers to a URL, with the promises of `post.post`."""


class Correspondence:
    """How an agent behind a URL is asked. Opens nothing before its first turn."""

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
        """What `ask` makes of the answer to a transcript, asked as `attempts.converse` does, with its promises."""
        with _client(self._context) as client:

            def send(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
                return post(client, url, body, headers, deadline=deadline, clock=self._clock)

            return converse(
                lambda given: ask(given, send),
                messages,
                note=note,
                window=self._window,
                deadline=deadline,
                clock=self._clock,
                pause=self._pause,
            )


def _client(context: ssl.SSLContext) -> httpx.Client:
    """A client for one turn: a connection that outlives it would be dead after the function was frozen.

    A proxy of the environment is used, except for servers on this machine.
    """
    here = dict.fromkeys(("all://localhost", "all://127.0.0.1", "all://[::1]"))
    return httpx.Client(verify=context, mounts=here)
