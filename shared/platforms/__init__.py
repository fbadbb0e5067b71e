"""Chat platforms: one folder each, and one entry in this list."""

from shared.platforms import discord, matrix, signal, slack, telegram, whatsapp
from shared.platforms.spec import PlatformSpec

PLATFORMS: tuple[PlatformSpec, ...] = (
    telegram.SPEC,
    slack.SPEC,
    discord.SPEC,
    matrix.SPEC,
    whatsapp.SPEC,
    signal.SPEC,
)
