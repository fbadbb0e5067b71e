"""Slack by Socket Mode: events over a connection that this machine opens."""

import asyncio
import functools
import hashlib
import hmac
import json
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from local.chats.relays.base import Relay, Target
from local.chats.relays.redaction import quiet
from local.chats.relays.webhook import FORM, JSON, Backoff

log = logging.getLogger(__name__)

_CONNECT_SECONDS = 30
# Slack's answers to an app token that it will never accept.
_UNUSABLE = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "not_allowed_token_type", "missing_scope"}
)


class SlackRelay(Relay):
    """Acknowledges an envelope only after the webhook accepted its event; until then Slack redelivers it."""

    platform = "slack"

    def __init__(self, target: Target, *, ping_seconds: float = 5.0, **more: Any) -> None:
        super().__init__(target, **more)
        self._ping_seconds = ping_seconds

    def sign(self, raw: bytes, *, now: int) -> Mapping[str, str]:
        timestamp = str(now // 1000)
        key = self.secret("signing_secret").encode()
        signature = hmac.new(key, f"v0:{timestamp}:".encode() + raw, hashlib.sha256)
        return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={signature.hexdigest()}"}

    async def run(self) -> None:
        """See Relay."""
        quiet("slack_sdk", "aiohttp", "asyncio", without_traceback="slack_sdk.socket_mode.aiohttp")
        async with aiohttp.ClientSession() as session:
            connect = functools.partial(self._connection, session)
            await self.keep_connected(connect, SlackClientError, aiohttp.ClientError, OSError)

    def unusable(self, error: Exception) -> str:
        if not isinstance(error, SlackApiError) or error.response.get("error") not in _UNUSABLE:
            return ""
        return (
            f"Slack does not accept SLACK_APP_TOKEN ({error.response['error']}). "
            "Create an app-level token with connections:write, and enable Socket Mode."
        )

    async def _connection(self, session: aiohttp.ClientSession, backoff: Backoff) -> None:
        """One SDK client, which reconnects by itself; returns when it fails to."""
        web = AsyncWebClient(base_url=self.target.api_url)
        client = SocketModeClient(self.secret("app_token"), web_client=web, ping_interval=self._ping_seconds)
        in_order, waiting = asyncio.Lock(), set[str]()

        async def listen(_: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
            # Slack sends an envelope again after three seconds: in a long line the copies would soon be most of it.
            # The acknowledgement of the first one answers all.
            if request.envelope_id in waiting:
                return
            waiting.add(request.envelope_id)
            try:
                # The SDK starts listeners in order but runs them concurrently: the lock keeps the order.
                async with in_order:
                    await self._forward(client, session, request)
            finally:
                waiting.discard(request.envelope_id)

        client.socket_mode_request_listeners.append(listen)
        try:
            # Requested here because the SDK would retry forever with a rejected token.
            client.wss_uri = await client.issue_new_wss_url()
            await asyncio.wait_for(client.connect(), _CONNECT_SECONDS)  # type: ignore[no-untyped-call]  # the SDK's
            self.connected.set()
            backoff.reset()
            offline = 0.0
            while offline < _CONNECT_SECONDS:
                await asyncio.sleep(self._ping_seconds)
                offline = 0.0 if await client.is_connected() else offline + self._ping_seconds
            log.warning("the connection to Slack was lost; opening a new one")
        finally:
            await client.close()  # type: ignore[no-untyped-call]  # the SDK's

    async def _forward(
        self, client: SocketModeClient, session: aiohttp.ClientSession, request: SocketModeRequest
    ) -> None:
        raw, kind = as_sent_by_http(request)
        headers = {"X-Slack-Retry-Num": str(request.retry_attempt)} if request.retry_attempt else {}
        outcome = await self.webhook.forward(
            session, raw, event=request.envelope_id, kind=kind, headers=headers, fixed_time=kind == FORM
        )
        if not outcome.accepted:
            return
        payload = _json(outcome.body) if request.accepts_response_payload else None
        try:
            await client.send_socket_mode_response(SocketModeResponse(request.envelope_id, payload))
        except (ConnectionError, aiohttp.ClientError) as error:
            # Slack redelivers the event, and the service ignores it as a duplicate.
            log.info("an acknowledgement did not reach Slack (%s)", type(error).__name__)


def as_sent_by_http(request: SocketModeRequest) -> tuple[bytes, str]:
    """The body and type of the HTTP request that Slack would send: JSON for events, forms for commands and clicks."""
    payload = request.payload
    if request.type == "slash_commands":
        return urlencode({key: value for key, value in payload.items() if value is not None}).encode(), FORM
    if request.type == "interactive":
        return urlencode({"payload": json.dumps(payload)}).encode(), FORM
    return json.dumps(payload, ensure_ascii=False).encode(), JSON


def _json(body: bytes) -> dict[str, object] | None:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) and found else None
