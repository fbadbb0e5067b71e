"""The relay of Slack in the tests of all relays."""

from collections.abc import Callable
from typing import Any

from local.chats.relays.base import Relay
from local.chats.relays.webhook import Backoff
from local.chats.simulator import Simulator
from local.chats.slack.relay import SlackRelay


def relay(simulator: Simulator, url: str, *, token: str, pauses: Callable[[], Backoff], **more: Any) -> Relay:
    return SlackRelay(
        url,
        app_token=token or simulator.secrets["slack/app_token"],
        signing_secret=simulator.secrets["slack/signing_secret"],
        api_url=simulator.api_url("slack"),
        ping_seconds=0.2,
        pauses=pauses,
        **more,
    )


def text(event: Any) -> str:
    """What a person wrote in a forwarded event."""
    return str(event["event"]["text"])
