"""Places where sessions live, and their routes."""

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote

CLI = "cli"
_KEPT = 1024
"""A handoff builds and reads the same few routes dozens of times."""


@dataclass(frozen=True)
class Place:
    """A terminal (`cli`), a chat, or a thread in a chat. It names no user, because several may write in one place."""

    platform: str
    chat: str
    thread: str | None = None

    @property
    def route(self) -> str:
        """The place as one string, the key under which its session is found."""
        return route(self.platform, self.chat, self.thread)

    @property
    def is_cli(self) -> bool:
        """Whether this is a terminal, which reads the transcript and cannot be posted to."""
        return self.platform == CLI

    @property
    def home(self) -> "Place":
        """The chat that contains this thread, or the place itself if it is not a thread."""
        return Place(self.platform, self.chat)


@lru_cache(_KEPT)
def route(platform: str, chat: str, thread: str | None = None) -> str:
    """Build the route of a place: `cli:<session>` or `platform:chat[:thread]`.

    Handoffs and inbound messages both use this function, so that a reply in a thread finds the session that was moved
    there. Separators inside a part are escaped.
    """
    parts = [platform, chat] if thread is None else [platform, chat, thread]
    if not all(parts):
        raise ValueError(f"a part of a route must not be empty: {parts}")
    return ":".join(quote(part, safe="@!#+=,$") for part in parts)


@lru_cache(_KEPT)
def place_of(route: str) -> Place:
    """Read a route back into the place that it was built from."""
    platform, chat, *thread = (unquote(part) for part in route.split(":"))
    return Place(platform, chat, thread[0] if thread else None)


def cli_place(session_id: str) -> Place:
    """The terminal of a session: where it starts, and where a resume in the terminal brings it back."""
    return Place(CLI, session_id)


def notices_at(place: Place) -> str:
    """The owner of the notices that the service itself posts at a place, in the place of a session's id."""
    return f"at-{place.route}"
