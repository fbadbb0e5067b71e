"""Chat platforms: one folder each, and one entry in this list."""

from shared.platforms import discord, slack, telegram
from shared.platforms.spec import PlatformSpec

PLATFORMS: tuple[PlatformSpec, ...] = (
    telegram.SPEC,
    slack.SPEC,
    discord.SPEC,
    # Not supported yet: requests for them are refused with a clear answer.
    PlatformSpec("matrix", "Matrix", threads=True),
    PlatformSpec("whatsapp", "WhatsApp", threads=False),
    PlatformSpec("signal", "Signal", threads=False),
)
