"""Links to Discord's channels and threads, for which one must know where a channel belongs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from shared.domain.routes import Place
from shared.platforms import links
from shared.platforms.discord.threads import THREADS

_REAL_HOST = "discord.com"
_DIRECT = "@me"  # stands for the server in links to direct messages


@dataclass(frozen=True)
class _Home:
    """Where a channel belongs: its server, and the channel that a thread is in."""

    guild: str
    parent: str | None


class DiscordLinks:
    """`<base>/<server>/<channel>` on Discord itself, `<base>/<parent>/<thread>` on a page of one's own."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._homes: dict[str, _Home] = {}

    def knows(self, channel_id: str) -> bool:
        return channel_id in self._homes

    def note(self, channel: Mapping[str, Any]) -> None:
        """Remember a channel as Discord describes it."""
        parent = channel.get("parent_id") if channel["type"] in THREADS else None  # else it is a category
        self._homes[str(channel["id"])] = _Home(channel.get("guild_id", _DIRECT), parent)

    def note_thread(self, thread_id: str, channel: Mapping[str, Any]) -> None:
        """Remember a thread that was opened in a channel."""
        self._homes[thread_id] = _Home(channel["guild_id"], str(channel["id"]))

    def to(self, channel_id: str) -> str:
        """The link to a channel that is known."""
        home = self._homes[channel_id]
        if urlsplit(self._base).hostname == _REAL_HOST:
            return f"{self._base.rstrip('/')}/{home.guild}/{channel_id}"
        chat, thread = (home.parent, channel_id) if home.parent else (channel_id, None)
        return links.below(self._base, Place("discord", chat, thread))
