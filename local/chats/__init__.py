"""The chat platforms of a local run: one folder each, and one entry in this list."""

from local.chats import discord, matrix, signal, slack, telegram, whatsapp
from local.chats.spec import LocalChat

CHATS: tuple[LocalChat, ...] = (telegram.CHAT, slack.CHAT, discord.CHAT, matrix.CHAT, whatsapp.CHAT, signal.CHAT)
