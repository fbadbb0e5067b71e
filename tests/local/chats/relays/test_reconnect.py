"""A relay reconnects to a platform that was restarted."""

import contextlib
import socket
from collections.abc import Iterator, Mapping

import pytest

from local.chats.simulator import Simulator
from tests.local.chats.relays.under_test import CHATS, relay_for, running
from tests.support.servers import WAIT_SECONDS, Request
from tests.support.webhook_receiver import WebhookReceiver


def first_event_after_restart(simulator: Simulator, platform: str, receiver: WebhookReceiver) -> list[Request]:
    """Write until an event arrives: SDKs reconnect slowly, and Slack forgets which apps use sockets."""
    for _ in range(60):
        simulator.say(platform, CHATS[platform], "back again")
        with contextlib.suppress(AssertionError):
            return receiver.accepted(1, within=1)
    return receiver.accepted(1)


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
        return number


@contextlib.contextmanager
def simulator_at(port: int, secrets: Mapping[str, str]) -> Iterator[Simulator]:
    simulator = Simulator(secrets=secrets)
    simulator.start(port)
    try:
        yield simulator
    finally:
        simulator.stop()


@pytest.mark.parametrize("platform", CHATS)
def test_a_relay_survives_a_restart_of_the_platform(receiver: WebhookReceiver, port: int, platform: str) -> None:
    secrets = Simulator().secrets
    with simulator_at(port, secrets) as first, running(relay_for(platform, first, receiver.url)) as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        first.stop()
        with simulator_at(port, secrets) as second:
            (posted,) = first_event_after_restart(second, platform, receiver)
    assert b"back again" in posted.body


@pytest.mark.parametrize("platform", CHATS)
def test_a_relay_that_starts_first_waits_for_its_platform(receiver: WebhookReceiver, port: int, platform: str) -> None:
    secrets = Simulator().secrets
    with simulator_at(port, secrets) as gone:
        relay = relay_for(platform, gone, receiver.url)
    with running(relay):
        assert not relay.connected.wait(0.3)
        with simulator_at(port, secrets):
            assert relay.connected.wait(WAIT_SECONDS)
