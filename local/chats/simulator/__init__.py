"""A chat simulator that speaks the protocols of the real platforms to their real SDKs."""

from local.chats.simulator.simulator import Simulator

__all__ = ["Simulator"]
