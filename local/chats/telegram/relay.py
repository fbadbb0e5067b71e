"""Telegram by long polling, for machines that Telegram cannot reach."""

import json
from collections.abc import Mapping
from typing import Any

import aiohttp

from local.chats.relays.base import Relay, RetryLater, Target, Unusable
from local.chats.relays.webhook import Backoff

_WEBHOOK_ACTIVE = "webhook is active"


class TelegramRelay(Relay):
    """Polls `getUpdates`. Asking for the next update confirms the last one, so that waits until the webhook accepted it.

    It uses plain HTTP and no SDK: updates are forwarded unchanged, and one that an SDK cannot parse blocks nothing.
    """

    platform = "telegram"

    def __init__(self, target: Target, *, poll_seconds: int = 50, **more: Any) -> None:
        super().__init__(target, **more)
        self._methods = f"{target.api_url}{self.secret('bot_token')}"
        self._poll_seconds = poll_seconds
        self._offset = 0

    def sign(self, raw: bytes, *, now: int) -> Mapping[str, str]:  # noqa: ARG002  # Telegram sends a shared secret
        return {"X-Telegram-Bot-Api-Secret-Token": self.secret("webhook_secret")}

    async def run(self) -> None:
        """See Relay."""
        async with aiohttp.ClientSession() as session:

            async def poll(backoff: Backoff) -> None:
                while True:
                    updates = await self._poll(session)
                    backoff.reset()
                    self.connected.set()
                    for update in updates:
                        raw = json.dumps(update, ensure_ascii=False).encode()
                        await self.webhook.forward(session, raw, event=str(update["update_id"]))
                        self._offset = update["update_id"] + 1

            await self.keep_connected(poll, aiohttp.ClientError, OSError, ValueError)

    async def _poll(self, session: aiohttp.ClientSession) -> list[dict[str, Any]]:
        # The first poll answers at once and sets `connected`.
        seconds = self._poll_seconds if self.connected.is_set() else 0
        asked = {"offset": self._offset, "timeout": seconds, "allowed_updates": ["message", "callback_query"]}
        answer = await self._call(session, "getUpdates", asked)
        if answer.get("ok"):
            updates: list[dict[str, Any]] = answer["result"]
            return updates
        code, text = answer.get("error_code"), str(answer.get("description", ""))
        if code in (401, 404):
            raise Unusable("Telegram does not accept TELEGRAM_BOT_TOKEN. Get a valid one from @BotFather.")
        if code == 409 and _WEBHOOK_ACTIVE in text:
            await self._remove_webhook(session)
        raise RetryLater(f"{code} {text}"[:200], float(answer.get("parameters", {}).get("retry_after", 0)))

    async def _remove_webhook(self, session: aiohttp.ClientSession) -> None:
        """A bot with a webhook cannot poll."""
        if not self.target.options.get("replace_webhook"):
            raise Unusable(
                "This bot has a webhook, which receives its messages. Use another bot for this machine, "
                "or take this one over with `python -m local.chats.relays telegram --replace-webhook`."
            )
        await self._call(session, "deleteWebhook", {"drop_pending_updates": False})

    async def _call(self, session: aiohttp.ClientSession, method: str, body: Mapping[str, Any]) -> dict[str, Any]:
        timeout = aiohttp.ClientTimeout(total=self._poll_seconds + 15)
        async with session.post(f"{self._methods}/{method}", json=body, timeout=timeout) as answer:
            found: dict[str, Any] = json.loads(await answer.read())
            return found
