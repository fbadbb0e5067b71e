"""Opens a Discord thread, and finds it again after an interruption.

A repeat of `POST /channels/{c}/threads` would make a second thread. These calls can be repeated at any point:

    seed message (nonce from the key) ── thread from that message ── people added
        │                                   │                           └ a repeat changes nothing
        │                                   └ a repeat answers 160004; the thread's id is the seed's id
        └ a repeat within minutes answers with the first one; later it is found by the reference in its last line

The single call is used only where the bot may not write to the channel itself: a crash may then leave an empty thread,
but never two with a session. A forum channel takes thread and first message in one call; it is found by the same
reference.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shared.domain.routes import Place
from shared.errors import PlaceGone, PlatformError, Rejected, ThreadRefused
from shared.platforms.discord import SPEC, seeds
from shared.platforms.discord.errors import THREAD_EXISTS, DiscordRefused

if TYPE_CHECKING:
    from shared.platforms.discord.rest import DiscordHttp

log = logging.getLogger(__name__)

ARCHIVE_MINUTES = 1440
PUBLIC_THREAD = 11

TEXT, ANNOUNCEMENTS, FORUM, MEDIA = 0, 5, 15, 16
DM, GROUP_DM = 1, 3
DIRECT = frozenset({DM, GROUP_DM})
PRIVATE_THREAD = 12
THREADS = frozenset({10, PUBLIC_THREAD, PRIVATE_THREAD})
_TAG_REQUIRED = 1 << 4
# How far back to search for the seed of an interrupted attempt, which is minutes old.
_MESSAGES_BACK = 100
_POSTS_BACK = 10

Channel = Mapping[str, Any]


async def open_thread(http: DiscordHttp, channel: Channel, title: str, *, key: str, people: Sequence[str]) -> Place:
    """A thread in `channel` with `people` in it. Safe to repeat with the same key. Raises ThreadRefused."""
    kind = channel["type"]
    if kind in (FORUM, MEDIA):
        thread = await _post_in_forum(http, channel, title, key, people)
    elif kind in (TEXT, ANNOUNCEMENTS):
        thread = await _thread_in_channel(http, channel, title, key, people)
    else:
        raise ThreadRefused("a Discord chat of this kind cannot hold threads")
    await _add_people(http, thread, people)
    return Place(SPEC.name, thread)


async def find_thread(http: DiscordHttp, channel: Channel, *, key: str) -> Place | None:
    """The thread of an interrupted `open_thread` with this key, completed; None if there is none."""
    in_forum = channel["type"] in (FORUM, MEDIA)
    candidates = await (_forum_posts(http, channel) if in_forum else _messages(http, channel))
    seed = next((message for message in candidates if seeds.is_ours(message, http.me, key)), None)
    if seed is None:
        return None
    if not in_forum and not seed.get("thread"):
        await _thread_from(http, channel["id"], seed["id"], seeds.title_in(seed))
    await _add_people(http, seed["id"], seeds.people_in(seed))
    return Place(SPEC.name, seed["id"])


async def _thread_in_channel(http: DiscordHttp, channel: Channel, title: str, key: str, people: Sequence[str]) -> str:
    channel_id = channel["id"]
    body = {"content": seeds.seed(title, key, people), "nonce": seeds.nonce(key), "enforce_nonce": True}
    try:
        seed = await http.call(
            "POST",
            "/channels/{channel_id}/messages",
            {**body, "allowed_mentions": seeds.NO_MENTIONS},
            channel_id=channel_id,
        )
    except PlaceGone:
        raise
    except Rejected:
        return await _thread_alone(http, channel_id, title)
    return await _thread_from(http, channel_id, str(seed["id"]), title)


async def _thread_from(http: DiscordHttp, channel_id: str, seed: str, title: str) -> str:
    body = {"name": seeds.name(title), "auto_archive_duration": ARCHIVE_MINUTES}
    path = "/channels/{channel_id}/messages/{message_id}/threads"
    try:
        await http.call("POST", path, body, channel_id=channel_id, message_id=seed)
    except DiscordRefused as refusal:
        if refusal.code != THREAD_EXISTS:
            raise ThreadRefused(f"the bot may not open a thread in this channel. {refusal}") from refusal
    return seed  # a thread that starts from a message has that message's id


async def _thread_alone(http: DiscordHttp, channel_id: str, title: str) -> str:
    body = {"name": seeds.name(title), "auto_archive_duration": ARCHIVE_MINUTES, "type": PUBLIC_THREAD}
    try:
        thread = await http.call("POST", "/channels/{channel_id}/threads", body, channel_id=channel_id)
    except DiscordRefused as refusal:
        raise ThreadRefused(f"the bot may not open a thread in this channel. {refusal}") from refusal
    return str(thread["id"])


async def _post_in_forum(http: DiscordHttp, channel: Channel, title: str, key: str, people: Sequence[str]) -> str:
    body: dict[str, Any] = {
        "name": seeds.name(title),
        "auto_archive_duration": ARCHIVE_MINUTES,
        "message": {"content": seeds.seed(title, key, people), "allowed_mentions": seeds.NO_MENTIONS},
    }
    if channel.get("flags", 0) & _TAG_REQUIRED:
        open_tags = [tag["id"] for tag in channel.get("available_tags", ()) if not tag.get("moderated")]
        body["applied_tags"] = open_tags[:1]
    try:
        thread = await http.call("POST", "/channels/{channel_id}/threads", body, channel_id=channel["id"])
    except DiscordRefused as refusal:
        raise ThreadRefused(f"the bot may not post in this forum. {refusal}") from refusal
    return str(thread["id"])


async def _add_people(http: DiscordHttp, thread: str, people: Sequence[str]) -> None:
    """Best effort: the thread is public, so people who see the channel can open it by its link."""
    path = "/channels/{channel_id}/thread-members/{user_id}"
    for person in people:
        try:
            await http.call("PUT", path, channel_id=thread, user_id=person)
        except PlatformError as error:
            log.warning("a person could not be added to a Discord thread: %s", error)


async def _messages(http: DiscordHttp, channel: Channel) -> Sequence[Mapping[str, Any]]:
    path = "/channels/{channel_id}/messages"
    found: list[Mapping[str, Any]] = await http.call(
        "GET", path, params={"limit": _MESSAGES_BACK}, channel_id=channel["id"]
    )
    return found


async def _forum_posts(http: DiscordHttp, channel: Channel) -> Sequence[Mapping[str, Any]]:
    """The first messages of our newest posts in a forum; each has the id of its post."""
    active = await http.call("GET", "/guilds/{guild_id}/threads/active", guild_id=channel["guild_id"])
    ours = [t["id"] for t in active["threads"] if t["parent_id"] == channel["id"] and t["owner_id"] == http.me]
    starters = []
    for post in sorted(ours, key=int, reverse=True)[:_POSTS_BACK]:
        path = "/channels/{channel_id}/messages/{message_id}"
        try:
            starters.append(await http.call("GET", path, channel_id=post, message_id=post))
        except Rejected:
            continue  # its first message was deleted
    return starters
