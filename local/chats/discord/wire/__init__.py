"""Discord's REST API, Gateway and interactions, as its SDK knows them."""

from local.chats.discord.wire.api import Discord

__all__ = ["Discord"]
