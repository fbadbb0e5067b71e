"""Relays and SDKs of the chats in use: started and loaded in a thread."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Self

from local.chats.relays.base import Relay
from shared.platforms import PLATFORMS
from shared.platforms.registry import load_adapters
from shared.services import Services

log = logging.getLogger(__name__)
STOP_SECONDS = 1.0


class Connections:
    """Loads the agent, adapters and SDKs in use, so that the first handoff is as fast as the next.

    Not before the service is ready, because the imports take a second.
    """

    def __init__(self, services: Services, relays: Callable[[], Iterable[Relay]]) -> None:
        """`relays` makes them, which imports their SDKs."""
        self._services, self._make_relays = services, relays
        self._lock = threading.Lock()
        self._relays: list[Relay] = []
        self._is_stopping = False
        self._thread = threading.Thread(target=self._connect, name="connect", daemon=True)
        self.are_started = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all relays at once, as each may wait for its platform. Waits a second for them."""
        with self._lock:
            self._is_stopping = True
        stopping = [threading.Thread(target=relay.stop, daemon=True) for relay in self._relays]
        for thread in stopping:
            thread.start()
        deadline = time.monotonic() + STOP_SECONDS
        for thread in (self._thread, *stopping):
            thread.join(max(0.0, deadline - time.monotonic()))

    def states(self) -> dict[str, bool | str]:
        """By platform: whether its relay is connected, or what is wrong."""
        with self._lock:
            return {relay.platform: relay.problem or relay.connected.is_set() for relay in self._relays}

    def _connect(self) -> None:
        try:
            self._start_relays()
            if not self._is_stopping:
                self._load()
        except Exception:
            log.exception("the relays or SDKs could not be loaded")

    def _start_relays(self) -> None:
        for relay in self._make_relays():
            with self._lock:
                if self._is_stopping:
                    return
                relay.start()
                self._relays.append(relay)
        self.are_started = True

    def _load(self) -> None:
        platforms = self._services.platforms
        self._services.agent()
        for spec in PLATFORMS:
            if platforms.is_configured(spec.name) and not self._is_stopping:
                load_adapters([spec])
                platform = platforms.get(spec.name)
                platform.render("Ready.")
                platform.is_me("")  # asks Telegram for the bot's name, which makes the client and its connection
