"""One use of a slash command or press of a button, and its JSON for the application."""

from dataclasses import dataclass
from typing import Any

from local.chats.discord.wire import payloads
from local.chats.simulator.backend import Backend
from local.chats.simulator.people import Person
from local.chats.simulator.store import Chat, Message, Thread

JSON = dict[str, Any]
APPLICATION_COMMAND, MESSAGE_COMPONENT = 2, 3


@dataclass
class Interaction:
    """`token` authenticates answers to it, `until` that time. `pressed` is the message whose button was pressed."""

    id: str
    token: str
    chat: Chat
    thread: Thread | None
    person: Person
    data: JSON
    until: float
    pressed: Message | None = None
    answered: bool = False


def payload(interaction: Interaction, backend: Backend) -> JSON:
    chat, thread = interaction.chat, interaction.thread
    guild_id = backend.options.guild
    where = payloads.thread_channel(chat, thread, backend) if thread else payloads.channel(chat, backend)
    result: JSON = {
        "id": interaction.id,
        "application_id": backend.options.application,
        "type": MESSAGE_COMPONENT if interaction.pressed else APPLICATION_COMMAND,
        "token": interaction.token,
        "version": 1,
        "data": interaction.data,
        "channel_id": where["id"],
        "channel": where,
        "locale": "en-US",
        "entitlements": [],
        "attachment_size_limit": 10_485_760,
        "app_permissions": payloads.ALL_PERMISSIONS,
        "authorizing_integration_owners": {"0": guild_id},
    }
    if interaction.pressed:
        result["message"] = payloads.message(interaction.pressed, chat, thread, backend)
    if chat.kind == "dm":
        return result | {"user": payloads.user(interaction.person), "context": 1}
    return result | {
        "guild_id": guild_id,
        "guild": {"id": guild_id, "locale": "en-US", "features": []},
        "guild_locale": "en-US",
        "member": payloads.member(interaction.person) | {"permissions": payloads.ALL_PERMISSIONS},
        "context": 0,
    }
