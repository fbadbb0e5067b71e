"""Webhooks of the Cloud API: batches with messages of people, and with reports on the bot's messages."""

import hashlib
import hmac
import json
from typing import Any

from local.chats.simulator.backend import Backend
from local.chats.simulator.deliveries import Policy, doubling

DISPLAYED = "1 555-000-9001"
POLICY = Policy(timeout=10.0, retries=lambda: doubling(1, 60), in_order=False)  # WhatsApp retries for seven days


class Events:
    """Sends one entry in each batch, signed with the app's secret."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def said(self, chat_id: str, name: str, message: dict[str, Any]) -> None:
        """A message of a person."""
        contact = {"profile": {"name": name}, "wa_id": chat_id}
        self._send(chat_id, message["id"], {"contacts": [contact], "messages": [{"from": chat_id, **message}]})

    def reported(self, chat_id: str, wamid: str, status: str, second: int, key: str | None) -> None:
        """A report on a message of the bot."""
        report = {"id": wamid, "status": status, "timestamp": str(second), "recipient_id": chat_id}
        report |= {"biz_opaque_callback_data": key} if key else {}
        self._send(chat_id, f"{wamid} {status}", {"statuses": [report]})

    def _send(self, chat_id: str, event_id: str, content: dict[str, Any]) -> None:
        metadata = {"display_phone_number": DISPLAYED, "phone_number_id": self._backend.secret("phone_number_id")}
        change = {"field": "messages", "value": {"messaging_product": "whatsapp", "metadata": metadata, **content}}
        batch = {"object": "whatsapp_business_account", "entry": [{"id": "102290129340398", "changes": [change]}]}
        raw = json.dumps(batch).encode()
        digest = hmac.new(self._backend.secret("app_secret").encode(), raw, hashlib.sha256).hexdigest()
        signature = {"X-Hub-Signature-256": f"sha256={digest}"}
        self._backend.deliver(event_id, raw, lambda *_: signature, POLICY, lane=chat_id)
