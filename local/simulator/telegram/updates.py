"""Updates on their way to the bot: kept until fetched by long polling, or sent to its webhook."""

import asyncio
import itertools
import json
from typing import Any

from local.simulator.deliveries import Event, Policy
from local.simulator.stage import Stage
from local.simulator.telegram.arguments import Arguments, Refused

_ACTIVE = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
_OTHER = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
_SET = "Conflict: terminated by setWebhook request"


def _pauses() -> "itertools.chain[float]":
    """1, 2, 4, … 60 seconds, and on: Telegram does not give up on an update within a day."""
    return itertools.chain((1.0, 2.0, 4.0, 8.0, 16.0, 32.0), itertools.repeat(60.0))


POLICY = Policy(timeout=60.0, retries=_pauses, in_order=True)


class Updates:
    """One bot's updates. A webhook, where one is set, gets each; else they wait to be polled."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._ids = itertools.count(100_001)
        self._waiting: list[dict[str, Any]] = []
        self._again: list[dict[str, Any]] = []
        self._arrived = asyncio.Event()
        self._poll: asyncio.Future[str] | None = None
        self._polled = False  # deleteWebhook was called: the bot polls, whatever the simulator's own URL is
        self._own_url: str | None = None
        self._own_secret: str | None = None

    @property
    def webhook_url(self) -> str | None:
        """What setWebhook set; without it the simulator's own setting, unless the bot asked to poll."""
        return self._own_url or (None if self._polled else self._stage.webhook("telegram"))

    def add(self, kind: str, content: dict[str, Any]) -> None:
        update = {"update_id": next(self._ids), kind: content}
        self._waiting.append(update)
        self._arrived.set()
        if self.webhook_url is not None:
            self.flush()

    def flush(self) -> None:
        """Hands what waits to the webhook."""
        if self.webhook_url is None:
            return
        for update in self._waiting:
            body = json.dumps(update, ensure_ascii=False).encode()
            lane = str(next(c["chat"]["id"] for c in update.values() if isinstance(c, dict)))
            self._stage.deliveries.send(
                Event(
                    platform="telegram",
                    id=str(update["update_id"]),
                    lane=lane,
                    url=lambda: self.webhook_url,
                    body=body,
                    sign=self._headers,
                    policy=POLICY,
                )
            )
        self._waiting.clear()

    def _headers(self, _number: int, _last_status: int | None) -> dict[str, str]:
        secret = self._own_secret if self._own_url else self._stage.credentials.telegram_webhook_secret
        return {"X-Telegram-Bot-Api-Secret-Token": secret} if secret else {}

    def set_webhook(self, arguments: Arguments) -> bool:
        url = arguments.text("url")
        if url and not url.startswith(("http://127.0.0.1", "http://localhost", "https://")):
            raise Refused("Bad Request: bad webhook: An HTTPS URL must be provided for webhook")
        if url and self._poll is not None and not self._poll.done():
            self._poll.set_result(_SET)
        self._own_url, self._own_secret = url or None, arguments.text("secret_token") or None
        self._polled = not url
        if arguments.flag("drop_pending_updates"):
            self._waiting.clear()
        self.flush()
        self._stage.deliveries.wake()
        return True

    def info(self) -> dict[str, Any]:
        url = self.webhook_url
        result = {"url": url or "", "has_custom_certificate": False, "pending_update_count": len(self._waiting)}
        return result | ({"max_connections": 40, "ip_address": "127.0.0.1"} if url else {})

    async def get(self, arguments: Arguments) -> list[dict[str, Any]]:
        """Long polling: what is unconfirmed, or what arrives within `timeout`. A newer poll ends an older one."""
        if self.webhook_url is not None:
            raise Refused(_ACTIVE, code=409)
        if self._poll is not None and not self._poll.done():
            self._poll.set_result(_OTHER)
        self._poll = ended = asyncio.get_running_loop().create_future()
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
            raise Refused(ended.result(), code=409)
        ended.cancel()
        found = (self._again + self._waiting)[:limit]
        self._again = []
        return found

    def _confirm(self, offset: int) -> None:
        """Forgets what lies below the offset, except what is to be delivered again on purpose."""
        if offset < 0:
            self._waiting = self._waiting[offset:]
            return
        confirmed = [update for update in self._waiting if update["update_id"] < offset]
        self._waiting = [update for update in self._waiting if update["update_id"] >= offset]
        self._again = [update for update in confirmed if self._stage.faults.take_redelivery("telegram")]
