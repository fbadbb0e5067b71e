"""A chat simulator that speaks Telegram's, Slack's and Discord's own protocols to their real SDKs."""

from local.simulator.credentials import Credentials
from local.simulator.simulator import Simulator
from local.simulator.world import World

__all__ = ["Credentials", "Simulator", "World"]
