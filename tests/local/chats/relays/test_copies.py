"""Slack sends an envelope again while it waits: the copies of one in line are not forwarded."""

import threading
from typing import Any

import pytest
from aiohttp import web

from local.chats.simulator import Simulator
from local.chats.slack.wire import sockets
from tests.local.chats.relays.under_test import CHATS, relay_for, running, texts
from tests.support.servers import Request, Response
from tests.support.waiting import eventually
from tests.support.webhook_receiver import WebhookReceiver

COPIES = 12


def test_copies_of_an_event_in_line_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "_ACK_SECONDS", 0.02)
    sent: list[Any] = []
    send = web.WebSocketResponse.send_json

    async def counted(socket: Any, data: Any, **options: Any) -> None:
        sent.append(data)
        await send(socket, data, **options)

    monkeypatch.setattr(web.WebSocketResponse, "send_json", counted)
    gate = threading.Event()

    def slow(_: Request) -> Response:
        gate.wait(20)
        return Response(body=b"{}")

    with Simulator() as simulator, WebhookReceiver() as webhook:
        webhook.answer(slow)
        with running(relay_for("slack", simulator, webhook.url)) as relay:
            assert relay.connected.wait(20)
            for text in ("one", "two"):
                simulator.say("slack", CHATS["slack"], text)
            eventually(lambda: sum(bool(data.get("retry_attempt")) for data in sent) >= COPIES)
            gate.set()
            webhook.accepted(2)
            simulator.say("slack", CHATS["slack"], "three")
            eventually(lambda: texts(webhook.requests)[-1] == "three")
            forwarded = texts(webhook.requests)

    assert list(dict.fromkeys(forwarded)) == ["one", "two", "three"]
    assert len(forwarded) <= COPIES // 2  # a copy that was under way with the acknowledgement may follow
