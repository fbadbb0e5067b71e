"""Links to Discord's channels and threads, which need the id of their server."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from shared.domain.routes import Place
from shared.platforms.discord import SPEC
from shared.platforms.discord.threads import THREADS
from shared.platforms.spec import link_below

_REAL_HOST = "discord.com"
_DIRECT = "@me"  # takes the place of the server in links to direct messages


@dataclass(frozen=True)
class _Location:
    """The server of a channel, and the parent channel of a thread."""

    guild: str
    parent: str | None


class DiscordLinks:
    """`<base>/<server>/<channel>` on Discord, `<base>/<parent>/<thread>` on another page."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._locations: dict[str, _Location] = {}

    def knows(self, channel_id: str) -> bool:
        return channel_id in self._locations

    def note(self, channel: Mapping[str, Any]) -> None:
        """Record a channel as Discord describes it."""
        # The parent of a channel that is not a thread is a category.
        parent = channel.get("parent_id") if channel["type"] in THREADS else None
        self._locations[str(channel["id"])] = _Location(channel.get("guild_id", _DIRECT), parent)

    def note_thread(self, thread_id: str, channel: Mapping[str, Any]) -> None:
        """Record a thread that was opened in a channel."""
        self._locations[thread_id] = _Location(channel.get("guild_id", _DIRECT), str(channel["id"]))

    def to_person(self, person_id: str) -> str:
        """The profile of a person or a bot."""
        return f"{self._base.rstrip('/').removesuffix('/channels')}/users/{person_id}"

    def without_server(self, channel_id: str) -> str:
        """For a channel that could not be read: opens Discord, and the chat if it is a direct one."""
        return f"{self._base.rstrip('/')}/{_DIRECT}/{channel_id}"

    def to(self, channel_id: str) -> str:
        """The link to a recorded channel."""
        location = self._locations[channel_id]
        if urlsplit(self._base).hostname == _REAL_HOST:
            return f"{self._base.rstrip('/')}/{location.guild}/{channel_id}"
        chat, thread = (location.parent, channel_id) if location.parent else (channel_id, None)
        return link_below(self._base, Place(SPEC.name, chat, thread))
