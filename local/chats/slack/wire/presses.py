"""Presses of buttons: the signed form or envelope, and the URL that takes the answer for a while."""

import itertools
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from local.chats.simulator.backend import Backend
from local.chats.simulator.deliveries import Policy
from local.chats.simulator.people import Person
from local.chats.simulator.store import Chat, Message, Thread
from local.chats.slack.wire import payloads
from local.chats.slack.wire.events import Events
from local.chats.slack.wire.sockets import Sockets

JSON = dict[str, Any]
# Slack sends a press once: a person who sees a warning sign presses again.
POLICY = Policy(timeout=3.0, retries=lambda: (), in_order=False)
ANSWER_SECONDS, MAX_ANSWERS = 1800.0, 5
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass
class _Press:
    chat: Chat
    thread: Thread | None
    message: Message
    person: Person
    button: str
    ts: str
    until: float
    answers: int = 0


class Presses:
    """Presses of people, each with the URL for its answers."""

    def __init__(self, backend: Backend, events: Events, sockets: Sockets, next_ts: Callable[[], str]) -> None:
        self._backend, self._events, self._sockets, self._next_ts = backend, events, sockets, next_ts
        self._numbers = itertools.count(1)
        self._open: dict[str, _Press] = {}

    def press(self, chat: Chat, thread: Thread | None, person: Person, message: Message, button: str) -> None:
        ticket = secrets.token_urlsafe(18)
        until = self._backend.clock() + ANSWER_SECONDS
        press = self._open[ticket] = _Press(chat, thread, message, person, button, self._next_ts(), until)
        payload = self._payload(press)
        payload["response_url"] = f"{self._backend.base_url()}/slack/actions/{self._backend.options.team}/{ticket}"
        if self._sockets.wanted:
            self._sockets.send(payload, "interactive")
            return
        body = urlencode({"payload": json.dumps(payload)}).encode()
        self._backend.deliver(
            press.ts, body, lambda *_: {**_FORM, **self._events.signature(body)}, POLICY, lane=chat.id
        )

    async def respond(self, request: web.Request) -> web.Response:
        """`response_url`: a message to the person who pressed. Other kinds of answers are not simulated."""
        press = self._open.get(request.match_info["ticket"])
        if press is None or self._backend.clock() > press.until or press.answers == MAX_ANSWERS:
            return web.json_response({"ok": False, "error": "expired_url"}, status=404)
        try:
            body = json.loads(await request.text())
        except ValueError:
            body = None
        if not isinstance(body, dict) or not str(body.get("text") or "").strip():
            return web.json_response({"ok": False, "error": "invalid_payload"}, status=400)
        if body.get("response_type") != "ephemeral" or body.get("replace_original") is not False:
            return web.json_response({"ok": False, "error": "unsupported"}, status=400)
        press.answers += 1
        self._backend.record("response_url", body)
        text = payloads.unescaped(body["text"])
        self._backend.store.acknowledge(press.chat, press.thread, press.message, press.person.key, text)
        return web.Response(text="ok")

    def _payload(self, press: _Press) -> JSON:
        options, chat, message, person = self._backend.options, press.chat, press.message, press.person
        thread = press.thread or chat.threads.get(message.id)
        shown = payloads.message(message, self._backend, thread=thread)
        block = next(block for block in shown["blocks"] if block["type"] == "actions")
        element = next(element for element in block["elements"] if element["action_id"] == press.button)
        return {
            "type": "block_actions",
            "user": {"id": person.id, "username": person.handle, "name": person.handle, "team_id": options.team},
            "api_app_id": options.app,
            "token": "deprecated",
            "container": {
                "type": "message",
                "message_ts": message.id,
                "channel_id": chat.id,
                "is_ephemeral": False,
                **({"thread_ts": thread.id} if thread else {}),
            },
            "trigger_id": f"{next(self._numbers)}.2.{secrets.token_hex(16)}",
            "team": {"id": options.team, "domain": "handoff"},
            "enterprise": None,
            "is_enterprise_install": False,
            "channel": {"id": chat.id, "name": "directmessage" if chat.kind == "im" else chat.title},
            "message": shown,
            "state": {"values": {}},
            "actions": [{**element, "block_id": block.get("block_id", "a1"), "action_ts": press.ts}],
        }
