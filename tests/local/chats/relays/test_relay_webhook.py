"""An event is handed over until the service has it, each try signed anew."""

import asyncio
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import aiohttp
import pytest

from local.chats.relays.base import Backoff
from local.chats.relays.webhook import Handed, Webhook
from tests.support.webhook_receiver import WebhookReceiver


def hand(webhook: Webhook, **more: Any) -> Handed:
    async def work() -> Handed:
        async with aiohttp.ClientSession() as session:
            return await webhook.hand(session, b"{}", event="1", **more)

    return asyncio.run(work())


def webhook_at(url: str, seconds: Callable[[], float]) -> Webhook:
    def sign(raw: bytes, *, now: int) -> Mapping[str, str]:
        return {"X-Signed-At": str(now)}

    return Webhook(url, "slack", sign, pauses=lambda: Backoff(0.001, 0.001), clock=seconds)


@pytest.fixture
def clock() -> Callable[[], float]:
    """A minute passes between any two looks at it."""
    minutes = count(1)
    return lambda: next(minutes) * 60.0


def test_each_try_is_signed_at_its_own_time(receiver: WebhookReceiver, clock: Callable[[], float]) -> None:
    receiver.answer(500, 500, 200)
    assert hand(webhook_at(receiver.url, clock)).accepted
    times = [int(one.headers["x-signed-at"]) for one in receiver.received(3)]
    assert times == sorted(set(times))


def test_what_is_known_by_its_signature_keeps_it_and_is_given_up_when_it_ages(
    receiver: WebhookReceiver, clock: Callable[[], float]
) -> None:
    receiver.answer(500)
    assert not hand(webhook_at(receiver.url, clock), only_now=True).accepted
    assert {one.headers["x-signed-at"] for one in receiver.received(2)} == {"60000"}


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_an_event_that_is_refused_for_good_is_left_out(receiver: WebhookReceiver, status: int) -> None:
    receiver.answer(status)
    assert not hand(webhook_at(receiver.url, lambda: 60.0)).accepted
    assert len(receiver.received(1)) == 1


def test_pauses_grow_up_to_the_longest_and_begin_anew() -> None:
    backoff = Backoff(1, 8)
    pauses = [backoff.next() for _ in range(40)]
    assert all(0.5 <= pause / min(8, 2**number) <= 1 for number, pause in enumerate(pauses))
    backoff.reset()
    assert backoff.next() <= 1
