"""A chat simulator that speaks Telegram's, Slack's and Discord's own protocols to their real SDKs."""

from local.chats.simulator.credentials import Credentials
from local.chats.simulator.simulator import Simulator
from local.chats.simulator.world import World

__all__ = ["Credentials", "Simulator", "World"]
