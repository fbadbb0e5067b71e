"""Telegram by long polling, for machines that Telegram cannot reach."""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp

from local.chats.relays.base import Backoff, Relay, Target, Unusable
from local.chats.relays.webhook import Webhook

log = logging.getLogger(__name__)

_WEBHOOK_ACTIVE = "webhook is active"


class TelegramRelay(Relay):
    """Polls `getUpdates`. Asking for the next update confirms the last one, so that waits until the webhook accepted it.

    It uses plain HTTP and no SDK: updates are forwarded unchanged, and one that an SDK cannot parse blocks nothing.
    """

    platform = "telegram"

    def __init__(
        self,
        url: str,
        *,
        token: str,
        secret: str,
        api_url: str,
        replace_webhook: bool = False,
        poll_seconds: int = 50,
        pauses: Callable[[], Backoff] = Backoff,
    ) -> None:
        """`replace_webhook` removes a webhook that is set for the bot: a bot with a webhook cannot poll."""
        super().__init__()
        self._methods = f"{api_url}{token}"
        self._replace_webhook = replace_webhook
        self._poll_seconds = poll_seconds
        self._pauses = pauses

        def sign(raw: bytes, *, now: int) -> Mapping[str, str]:  # noqa: ARG001  # Telegram sends a shared secret
            return {"X-Telegram-Bot-Api-Secret-Token": secret}

        self._webhook = Webhook(url, self.platform, sign, pauses=pauses)

    async def run(self) -> None:
        """See Relay."""
        offset = 0
        backoff = self._pauses()
        async with aiohttp.ClientSession() as session:
            while True:
                try:
                    updates = await self._poll(session, offset)
                except (aiohttp.ClientError, OSError, ValueError, _RetryLater) as error:
                    wait = error.after if isinstance(error, _RetryLater) else 0.0
                    log.warning("Telegram did not answer a poll (%s); retrying", _name(error))
                    await backoff.pause(at_least=wait)
                    continue
                backoff.reset()
                self.connected.set()
                for update in updates:
                    raw = json.dumps(update, ensure_ascii=False).encode()
                    await self._webhook.forward(session, raw, event=str(update["update_id"]))
                    offset = update["update_id"] + 1

    async def _poll(self, session: aiohttp.ClientSession, offset: int) -> list[dict[str, Any]]:
        seconds = (
            self._poll_seconds if self.connected.is_set() else 0
        )  # the first poll answers at once and sets `connected`
        asked = {"offset": offset, "timeout": seconds, "allowed_updates": ["message", "callback_query"]}
        answer = await self._call(session, "getUpdates", asked)
        if answer.get("ok"):
            updates: list[dict[str, Any]] = answer["result"]
            return updates
        code, text = answer.get("error_code"), str(answer.get("description", ""))
        if code in (401, 404):
            raise Unusable("Telegram does not accept TELEGRAM_BOT_TOKEN. Get a valid one from @BotFather.")
        if code == 409 and _WEBHOOK_ACTIVE in text:
            await self._remove_webhook(session)
        raise _RetryLater(f"{code} {text}"[:200], float(answer.get("parameters", {}).get("retry_after", 0)))

    async def _remove_webhook(self, session: aiohttp.ClientSession) -> None:
        if not self._replace_webhook:
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


def make_relay(target: Target) -> TelegramRelay:
    return TelegramRelay(
        target.url,
        token=target.secrets["telegram/bot_token"],
        secret=target.secrets["telegram/webhook_secret"],
        api_url=target.api_url,
        replace_webhook=bool(target.options.get("replace_webhook")),
    )


class _RetryLater(Exception):
    """Telegram asks for a retry, not before `after` seconds."""

    def __init__(self, why: str, after: float) -> None:
        super().__init__(why)
        self.after = after


def _name(error: Exception) -> str:
    # Errors of the HTTP library may contain the URL, and the URL contains the token.
    return str(error) if isinstance(error, _RetryLater) else type(error).__name__
