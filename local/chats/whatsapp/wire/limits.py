"""The two limits per person: bursts of messages, and 24 hours after the person's last one."""

from collections.abc import Callable

from local.chats.whatsapp import WhatsAppOptions
from local.chats.whatsapp.wire.errors import PAIR, SILENT

WINDOW_SECONDS = 24 * 3600


class Limits:
    """Times of messages from and to each person, by the clock of the simulator."""

    def __init__(self, options: WhatsAppOptions, clock: Callable[[], float]) -> None:
        self._options, self._clock = options, clock
        self._began = clock()
        self._heard: dict[str, float] = {}
        self._got: dict[str, tuple[float, float]] = {}  # what is left of the burst, and when that was counted

    def heard(self, chat_id: str) -> None:
        self._heard[chat_id] = self._clock()

    def sending(self, chat_id: str) -> None:
        """Count a message to this person. Raises GraphError; then it does not count."""
        now = self._clock()
        last = self._heard.get(chat_id, float("-inf") if self._options.silent else self._began)
        if now - last >= WINDOW_SECONDS:
            raise SILENT
        left, counted = self._got.get(chat_id, (float(self._options.burst), now))
        left = min(left + (now - counted) / self._options.every, float(self._options.burst))
        if left < 1:
            raise PAIR
        self._got[chat_id] = left - 1, now
