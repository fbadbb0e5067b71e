"""Event callbacks: signed over HTTP, or through a socket."""

import hashlib
import hmac
import itertools
import json
import secrets
from typing import Any

from local.chats.simulator.backend import Backend
from local.chats.simulator.deliveries import Policy
from local.chats.simulator.people import BOT
from local.chats.simulator.protocol import Handshake, ask
from local.chats.simulator.store import Chat, Message, Thread
from local.chats.slack.wire import payloads
from local.chats.slack.wire.sockets import Sockets

JSON = dict[str, Any]
# A time-out of three seconds, then three retries: at once, after a minute, after five. Other events do not wait.
POLICY = Policy(timeout=3.0, retries=lambda: (0.0, 60.0, 300.0), in_order=False)


class Events:
    """Sends events to the sockets once the app opened one, else to the webhook."""

    def __init__(self, backend: Backend, sockets: Sockets) -> None:
        self._backend, self._sockets = backend, sockets
        self._ids = itertools.count(1)

    def message(self, chat: Chat, thread: Thread | None, message: Message) -> None:
        """Sends `message`, and also `app_mention` if the bot is mentioned in a channel."""
        shown = payloads.message(message, self._backend, thread=thread)
        kind = {"channel": chat.id, "event_ts": message.id, "channel_type": chat.kind}
        self._send(chat, message, {**shown, **kind})
        mention = f"<@{self._backend.person(BOT).id}>"
        if mention in shown["text"] and chat.kind == "channel" and message.author != BOT:
            self._send(chat, message, {**shown, "type": "app_mention", "channel": chat.id, "event_ts": message.id})

    def changed(self, chat: Chat, thread: Thread | None, message: Message, before: JSON) -> None:
        event = {
            "type": "message",
            "subtype": "message_changed",
            "hidden": True,
            "channel": chat.id,
            "channel_type": chat.kind,
            "ts": f"{message.edited_at:.6f}",
            "event_ts": f"{message.edited_at:.6f}",
            "message": payloads.message(message, self._backend, thread=thread),
            "previous_message": before,
        }
        self._send(chat, message, event)

    def _send(self, chat: Chat, message: Message, event: JSON) -> None:
        options = self._backend.options
        event_id = f"Ev0{next(self._ids):09d}"
        callback = {
            "token": "deprecated",
            "team_id": options.team,
            "context_team_id": options.team,
            "context_enterprise_id": None,
            "api_app_id": options.app,
            "event": event,
            "type": "event_callback",
            "event_id": event_id,
            "event_time": int(message.at),
            "authorizations": [
                {
                    "enterprise_id": None,
                    "team_id": options.team,
                    "user_id": self._backend.person(BOT).id,
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
            "is_ext_shared_channel": False,
            "event_context": f"4-{secrets.token_hex(8)}",
        }
        if self._sockets.wanted:
            self._sockets.send(callback)
            return
        body = json.dumps(callback, ensure_ascii=False).encode()

        def sign(number: int, last_status: int | None) -> dict[str, str]:
            return self.signature(body) | retry_headers(number, last_status)

        self._backend.deliver(event_id, body, sign, POLICY, lane=chat.id)

    async def verify(self) -> Handshake:
        """`url_verification`: the webhook must return the challenge, as JSON or as plain text."""
        challenge = secrets.token_urlsafe(32)
        body = json.dumps({"token": "deprecated", "challenge": challenge, "type": "url_verification"}).encode()
        if (url := self._backend.webhook()) is None:
            return Handshake(ok=False, detail="there is no webhook URL yet")
        status, answer = await ask(url, body, self.signature(body))
        returned = answer.get("challenge") if isinstance(answer, dict) else answer
        return Handshake(ok=status == 200 and returned == challenge, detail=f"the challenge was answered with {status}")

    def signature(self, body: bytes) -> dict[str, str]:
        """Slack's v0 signature, over a fresh timestamp and the raw bytes."""
        timestamp = str(int(self._backend.clock()))
        key = self._backend.secret("signing_secret").encode()
        digest = hmac.new(key, b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()
        return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={digest}"}


def retry_headers(number: int, last_status: int | None) -> dict[str, str]:
    if number == 0:
        return {}
    reason = "http_timeout" if last_status is None else "http_error"
    return {"X-Slack-Retry-Num": str(number), "X-Slack-Retry-Reason": reason}
