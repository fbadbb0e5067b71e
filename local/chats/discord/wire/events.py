"""Changes of the store as Gateway events."""

from typing import Any

from local.chats.discord.wire import payloads
from local.chats.simulator.backend import Backend
from local.chats.simulator.store import Change, Chat

JSON = dict[str, Any]
# The intents with which a bot subscribes to them.
GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES = 1 << 0, 1 << 9, 1 << 12


def gateway_events(change: Change, backend: Backend) -> list[tuple[str, JSON, int]]:
    """The events of a change: name, data and the intent that subscribes to it."""
    chat = change.chat
    thread = chat.threads.get(change.thread_id) if change.thread_id else None
    if change.message is not None:
        if change.message.extra.get("flags", 0) & payloads.EPHEMERAL:
            return []  # visible to one person only
        data = payloads.message(change.message, chat, thread, backend) | _in_guild(chat, backend)
        if chat.kind != "dm" and change.kind != "gone":
            member = payloads.member(backend.person(change.message.author))
            data["member"] = {key: value for key, value in member.items() if key != "user"}
        name = {"message": "MESSAGE_CREATE", "edit": "MESSAGE_UPDATE", "gone": "MESSAGE_DELETE"}[change.kind]
        return [(name, data, DIRECT_MESSAGES if chat.kind == "dm" else GUILD_MESSAGES)]
    if change.kind == "thread" and thread is not None:
        known = thread.extra.pop("announced", False)
        thread.extra["announced"] = True
        data = payloads.thread_channel(chat, thread, backend)
        return [("THREAD_UPDATE", data, GUILDS) if known else ("THREAD_CREATE", data | {"newly_created": True}, GUILDS)]
    if change.kind == "gone" and change.thread_id:
        data = {
            "id": change.thread_id,
            "parent_id": chat.id,
            "type": payloads.PUBLIC_THREAD,
            **_in_guild(chat, backend),
        }
        return [("THREAD_DELETE", data, GUILDS)]
    if change.kind == "gone":
        return [("CHANNEL_DELETE", payloads.channel(chat, backend), GUILDS)]
    return []


def _in_guild(chat: Chat, backend: Backend) -> JSON:
    return {} if chat.kind == "dm" else {"guild_id": backend.options.guild}
