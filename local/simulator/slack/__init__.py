"""Slack's Web API, Events API and Socket Mode, as its SDK knows them."""

from local.simulator.slack.api import Slack

__all__ = ["Slack"]
