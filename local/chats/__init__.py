"""The chat platforms of a local run: one folder and one entry each. Other distributions add theirs by entry points."""

from typing import Any

from local.chats import discord, matrix, signal, slack, telegram, whatsapp
from local.chats.spec import LocalChat
from shared.entry_points import with_added

BUILT_IN: tuple[LocalChat, ...] = (telegram.CHAT, slack.CHAT, discord.CHAT, matrix.CHAT, whatsapp.CHAT, signal.CHAT)
CHATS: tuple[LocalChat, ...]
"""All of them. Made when it is first read: a distribution that adds one imports modules of this package."""


def __getattr__(name: str) -> Any:
    if name != "CHATS":
        raise AttributeError(name)
    made = globals()[name] = with_added(BUILT_IN, "handoff.chats", name=lambda chat: chat.name)
    return made
