"""The relay of Signal in the tests of all relays."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from local.chats.relays.base import Relay
from local.chats.relays.webhook import Backoff
from local.chats.signal.relay import SignalRelay
from local.chats.simulator import Simulator


def relay(simulator: Simulator, url: str, *, token: str, pauses: Callable[[], Backoff], **more: Any) -> Relay:
    secret = simulator.secrets["signal/relay_secret"]
    return SignalRelay(
        url,
        account=token or simulator.secrets["signal/account"],
        secret=secret,
        api_url=simulator.api_url("signal"),
        pauses=pauses,
        **{"spool": Path(tempfile.gettempdir()) / f"signal-{secret[:16]}.events", **more},
    )


def text(event: Any) -> str:
    """What a person wrote in a forwarded event."""
    return str(event["envelope"]["dataMessage"]["message"])
