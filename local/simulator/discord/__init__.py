"""Discord's REST API, Gateway and interactions, as its SDK knows them."""

from local.simulator.discord.api import Discord

__all__ = ["Discord"]
