"""One use of a slash command, and its JSON for the application."""

from dataclasses import dataclass
from typing import Any

from local.chats.discord.wire import payloads
from local.chats.discord.wire.commands import Commands
from local.chats.simulator.backend import Backend
from local.chats.simulator.people import Person
from local.chats.simulator.store import Chat, Message, Thread

JSON = dict[str, Any]
APPLICATION_COMMAND, CHAT_INPUT, STRING = 2, 1, 3


@dataclass
class Interaction:
    """`token` authenticates answers to it, `until` that time."""

    id: str
    token: str
    chat: Chat
    thread: Thread | None
    person: Person
    name: str
    rest: str
    until: float
    answered: bool = False
    original: Message | None = None


def payload(interaction: Interaction, backend: Backend, commands: Commands) -> JSON:
    chat, thread = interaction.chat, interaction.thread
    guild_id = backend.options.guild
    where = payloads.thread_channel(chat, thread, backend) if thread else payloads.channel(chat, backend)
    data: JSON = {"id": commands.id_of(interaction.name), "name": interaction.name, "type": CHAT_INPUT}
    option = commands.options[interaction.name]
    if option and interaction.rest:
        data["options"] = [{"name": option, "type": STRING, "value": interaction.rest}]
    result: JSON = {
        "id": interaction.id,
        "application_id": backend.options.application,
        "type": APPLICATION_COMMAND,
        "token": interaction.token,
        "version": 1,
        "data": data,
        "channel_id": where["id"],
        "channel": where,
        "locale": "en-US",
        "entitlements": [],
        "attachment_size_limit": 10_485_760,
        "app_permissions": payloads.ALL_PERMISSIONS,
        "authorizing_integration_owners": {"0": guild_id},
    }
    if chat.kind == "dm":
        return result | {"user": payloads.user(interaction.person), "context": 1}
    return result | {
        "guild_id": guild_id,
        "guild": {"id": guild_id, "locale": "en-US", "features": []},
        "guild_locale": "en-US",
        "member": payloads.member(interaction.person) | {"permissions": payloads.ALL_PERMISSIONS},
        "context": 0,
    }
