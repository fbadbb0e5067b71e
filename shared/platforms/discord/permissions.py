"""The permissions of a bot in a Discord channel: its roles, then the channel's overwrites from wide to narrow."""

from collections.abc import Mapping, Sequence
from typing import Any

ADMINISTRATOR = 1 << 3
VIEW_CHANNEL = 1 << 10
SEND_MESSAGES = 1 << 11
ATTACH_FILES = 1 << 15
READ_MESSAGE_HISTORY = 1 << 16
CREATE_PUBLIC_THREADS = 1 << 35
SEND_MESSAGES_IN_THREADS = 1 << 38
EVERYTHING = ~0

Json = Mapping[str, Any]


def of_member(guild: Json, member: Json, channel: Json) -> int:
    """The member's permissions in the channel as bits."""
    if member["user"]["id"] == guild["owner_id"]:
        return EVERYTHING
    # The role @everyone has the id of the server.
    roles = {guild["id"], *member["roles"]}
    held = 0
    for role in guild["roles"]:
        held |= int(role["permissions"]) if role["id"] in roles else 0
    if held & ADMINISTRATOR:
        return EVERYTHING
    overwrites = channel.get("permission_overwrites") or []
    for ids in ({guild["id"]}, set(member["roles"]), {member["user"]["id"]}):
        held = _overwritten(held, [overwrite for overwrite in overwrites if overwrite["id"] in ids])
    return held


def _overwritten(held: int, overwrites: Sequence[Json]) -> int:
    """Overwrites on one level: allow has precedence over deny."""
    denied = allowed = 0
    for overwrite in overwrites:
        denied |= int(overwrite["deny"])
        allowed |= int(overwrite["allow"])
    return held & ~denied | allowed
