"""Updates for the bot: kept until fetched by long polling, or sent to its webhook."""

import asyncio
import itertools
import json
from http.client import responses
from typing import Any

from local.chats.simulator.backend import Backend
from local.chats.simulator.deliveries import Policy, doubling
from local.chats.telegram.wire.arguments import Arguments, TelegramError

_ACTIVE = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
_OTHER = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
_SET = "Conflict: terminated by setWebhook request"


POLICY = Policy(timeout=60.0, retries=lambda: doubling(1, 60), in_order=True)  # Telegram retries for at least a day


class Updates:
    """One bot's updates. They go to the webhook if one is set, else they wait for a poll."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._ids = itertools.count(100_001)
        self._waiting: list[dict[str, Any]] = []
        self._again: list[dict[str, Any]] = []
        self._arrived = asyncio.Event()
        self._poll: asyncio.Future[str] | None = None
        self._polled = False  # deleteWebhook was called: the bot polls, even if the simulator has a URL
        self._own_url: str | None = None
        self._own_secret: str | None = None
        self._allowed: list[str] = []  # the kinds that the bot asked for; empty for all
        self._in_flight: set[int] = set()
        self._last_error: dict[str, Any] = {}

    @property
    def webhook_url(self) -> str | None:
        """The URL from setWebhook, else the simulator's, unless the bot asked to poll."""
        return self._own_url or (None if self._polled else self._backend.webhook())

    def add(self, kind: str, content: dict[str, Any]) -> None:
        if self._allowed and kind not in self._allowed:
            return
        update = {"update_id": next(self._ids), kind: content}
        self._waiting.append(update)
        self._arrived.set()
        if self.webhook_url is not None:
            self.flush()

    def flush(self) -> None:
        """Send waiting updates to the webhook."""
        if self.webhook_url is None:
            return
        for update in self._waiting:
            self._send(update)
        self._waiting.clear()

    def _send(self, update: dict[str, Any]) -> None:
        number: int = update["update_id"]
        self._in_flight.add(number)
        chat = next(c.get("message", c)["chat"]["id"] for c in update.values() if isinstance(c, dict))
        self._backend.deliver(
            str(number),
            json.dumps(update, ensure_ascii=False).encode(),
            self._headers,
            POLICY,
            lane=str(chat),
            url=lambda: self.webhook_url,
            answered=lambda _: self._in_flight.discard(number),
            missed=self._missed,
        )

    def _missed(self, status: int | None) -> None:
        """Record the error for getWebhookInfo."""
        text = "Connection refused"
        if status is not None:
            text = f"Wrong response from the webhook: {status} {responses.get(status, '')}".rstrip()
        self._last_error = {"last_error_date": int(self._backend.clock()), "last_error_message": text}

    def _headers(self, _number: int, _last_status: int | None) -> dict[str, str]:
        secret = self._own_secret if self._own_url else self._backend.secret("webhook_secret")
        return {"X-Telegram-Bot-Api-Secret-Token": secret} if secret else {}

    def set_webhook(self, arguments: Arguments) -> bool:
        url = arguments.text("url")
        if url and not url.startswith(("http://127.0.0.1", "http://localhost", "https://")):
            raise TelegramError("Bad Request: bad webhook: An HTTPS URL must be provided for webhook")
        if url and self._poll is not None and not self._poll.done():
            self._poll.set_result(_SET)
        self._own_url, self._own_secret = url or None, arguments.text("secret_token") or None
        self._polled = not url
        self._allow(arguments)
        self._last_error = {}
        if arguments.flag("drop_pending_updates"):
            self._waiting.clear()
        self.flush()
        self._backend.deliveries.wake()
        return True

    def info(self) -> dict[str, Any]:
        url = self.webhook_url
        waiting = len(self._waiting) + len(self._in_flight)
        result = {"url": url or "", "has_custom_certificate": False, "pending_update_count": waiting}
        result |= {"max_connections": 40, "ip_address": "127.0.0.1", **self._last_error} if url else {}
        return result | ({"allowed_updates": self._allowed} if self._allowed else {})

    async def get(self, arguments: Arguments) -> list[dict[str, Any]]:
        """Long polling: unconfirmed updates, or those that arrive within `timeout`. A newer poll ends an older one."""
        if self.webhook_url is not None:
            raise TelegramError(_ACTIVE, code=409)
        if self._poll is not None and not self._poll.done():
            self._poll.set_result(_OTHER)
        self._poll = ended = asyncio.get_running_loop().create_future()
        self._allow(arguments)
        self._confirm(arguments.integer("offset"))
        limit = min(max(arguments.integer("limit", 100), 1), 100)
        if not self._waiting and not self._again:
            self._arrived.clear()
            arrived = asyncio.ensure_future(self._arrived.wait())
            await asyncio.wait(
                (arrived, ended), timeout=arguments.integer("timeout"), return_when=asyncio.FIRST_COMPLETED
            )
            arrived.cancel()
        if ended.done():
            raise TelegramError(ended.result(), code=409)
        ended.cancel()
        found = (self._again + self._waiting)[:limit]
        self._again = []
        return found

    def _allow(self, arguments: Arguments) -> None:
        """A call without the argument keeps the list of the call before."""
        if arguments.given("allowed_updates"):
            self._allowed = [str(kind) for kind in arguments.items("allowed_updates")]

    def _confirm(self, offset: int) -> None:
        """Drop updates below the offset, except those that a fault redelivers."""
        if offset < 0:
            self._waiting = self._waiting[offset:]
            return
        confirmed = [update for update in self._waiting if update["update_id"] < offset]
        self._waiting = [update for update in self._waiting if update["update_id"] >= offset]
        self._again = [update for update in confirmed if self._backend.take_redelivery()]
