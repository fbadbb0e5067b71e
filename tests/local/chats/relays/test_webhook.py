"""An event is retried until the service accepts it, with a fresh signature each time."""

import asyncio
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import aiohttp
import pytest

from local.chats.relays.webhook import Backoff, Outcome, Webhook
from tests.support.webhook_receiver import WebhookReceiver


def forward(webhook: Webhook, **more: Any) -> Outcome:
    async def work() -> Outcome:
        async with aiohttp.ClientSession() as session:
            return await webhook.forward(session, b"{}", event="1", **more)

    return asyncio.run(work())


def webhook_at(url: str, seconds: Callable[[], float]) -> Webhook:
    def sign(raw: bytes, *, now: int) -> Mapping[str, str]:
        return {"X-Signed-At": str(now)}

    return Webhook(url, "slack", sign, pauses=lambda: Backoff(0.001, 0.001), clock=seconds)


@pytest.fixture
def clock() -> Callable[[], float]:
    """Each call is a minute later."""
    minutes = count(1)
    return lambda: next(minutes) * 60.0


def test_each_attempt_has_a_fresh_signature(receiver: WebhookReceiver, clock: Callable[[], float]) -> None:
    receiver.answer(500, 500, 200)
    assert forward(webhook_at(receiver.url, clock)).accepted
    times = [int(one.headers["x-signed-at"]) for one in receiver.received(3)]
    assert times == sorted(set(times))


def test_a_fixed_time_is_kept_until_it_expires(receiver: WebhookReceiver, clock: Callable[[], float]) -> None:
    receiver.answer(500)
    assert not forward(webhook_at(receiver.url, clock), fixed_time=True).accepted
    assert {one.headers["x-signed-at"] for one in receiver.received(2)} == {"60000"}


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_a_rejected_event_is_dropped(receiver: WebhookReceiver, status: int) -> None:
    receiver.answer(status)
    assert not forward(webhook_at(receiver.url, lambda: 60.0)).accepted
    assert len(receiver.received(1)) == 1


def test_pauses_grow_to_a_limit_and_can_be_reset() -> None:
    backoff = Backoff(1, 8)
    pauses = [backoff.next() for _ in range(40)]
    assert all(0.5 <= pause / min(8, 2**number) <= 1 for number, pause in enumerate(pauses))
    backoff.reset()
    assert backoff.next() <= 1
