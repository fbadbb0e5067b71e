"""Slack's Web API, Events API and Socket Mode, as its SDK knows them."""

from local.chats.slack.wire.api import Slack

__all__ = ["Slack"]
