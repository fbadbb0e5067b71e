"""Chat platforms: one folder each, and one entry in this list. Other distributions add theirs by entry points."""

from typing import Any

from shared.entry_points import with_added
from shared.platforms import discord, matrix, signal, slack, telegram, whatsapp
from shared.platforms.spec import PlatformSpec

BUILT_IN: tuple[PlatformSpec, ...] = (
    telegram.SPEC,
    slack.SPEC,
    discord.SPEC,
    matrix.SPEC,
    whatsapp.SPEC,
    signal.SPEC,
)
PLATFORMS: tuple[PlatformSpec, ...]
"""All platforms. Made when it is first read: a distribution that adds one imports modules of this package."""


def __getattr__(name: str) -> Any:
    if name != "PLATFORMS":
        raise AttributeError(name)
    made = globals()[name] = with_added(BUILT_IN, "handoff.platforms", name=lambda spec: spec.name)
    return made
