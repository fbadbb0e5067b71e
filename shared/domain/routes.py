"""Places where words come from, and the one function that turns a place into a route."""

from dataclasses import dataclass
from urllib.parse import quote, unquote

CLI = "cli"


@dataclass(frozen=True)
class Place:
    """A terminal's session (`cli`), a chat, or a thread in a chat. It names no person: a thread belongs to its session."""

    platform: str
    chat: str
    thread: str | None = None

    @property
    def route(self) -> str:
        """The place as one string: the key under which a session is found."""
        return route(self.platform, self.chat, self.thread)

    @property
    def is_cli(self) -> bool:
        """Whether this is the terminal, where no platform can be posted to."""
        return self.platform == CLI

    @property
    def home(self) -> "Place":
        """The chat that holds this place: the place itself if it is no thread."""
        return Place(self.platform, self.chat)


def route(platform: str, chat: str, thread: str | None = None) -> str:
    """Build the route of a place: `cli:<session>` or `platform:chat[:thread]`.

    Handoffs and inbound messages both come through here, so that a reply in a thread finds the session that was moved
    there. A part may hold any character: what would be read as a separator is escaped.
    """
    parts = [platform, chat] if thread is None else [platform, chat, thread]
    if not all(parts):
        raise ValueError(f"a route has no empty part: {parts}")
    return ":".join(quote(part, safe="@!#+=,$") for part in parts)


def place_of(route: str) -> Place:
    """Read a route back into the place that it was built from."""
    platform, chat, *thread = (unquote(part) for part in route.split(":"))
    return Place(platform, chat, thread[0] if thread else None)


def cli_place(session_id: str) -> Place:
    """The terminal of one session: where every session begins and where `/resume` brings it back."""
    return Place(CLI, session_id)
