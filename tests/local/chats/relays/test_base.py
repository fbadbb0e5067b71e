"""A relay runs in its thread and reports how it ended."""

import asyncio
import threading

from local.chats.relays.base import Relay, Target, Unusable
from tests.support.servers import WAIT_SECONDS


class Scripted(Relay):
    """Ends with the given error, or runs until it is stopped."""

    platform = "telegram"

    def __init__(self, ends_with: Exception | None = None) -> None:
        super().__init__(Target("http://service.test", "", {}))
        self.running = threading.Event()
        self.was_cancelled = False
        self._ends_with = ends_with

    def sign(self, raw: bytes, *, now: int) -> dict[str, str]:  # noqa: ARG002  # nothing is sent
        return {"time": str(now)}

    async def run(self) -> None:
        self.running.set()
        if self._ends_with is not None:
            raise self._ends_with
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise


def test_a_relay_runs_until_it_is_stopped() -> None:
    relay = Scripted()
    relay.start()
    assert relay.running.wait(WAIT_SECONDS)
    assert not relay.wait(0)
    relay.stop()
    assert relay.wait(0)
    assert relay.was_cancelled
    assert relay.problem is None


def test_an_unusable_relay_reports_why() -> None:
    relay = Scripted(Unusable("Get another token."))
    relay.start()
    assert relay.wait(WAIT_SECONDS)
    assert relay.problem == "Get another token."


def test_an_internal_error_is_reported() -> None:
    relay = Scripted(KeyError("surprise"))
    relay.start()
    assert relay.wait(WAIT_SECONDS)
    assert "KeyError" in str(relay.problem)


def test_a_relay_that_never_started_can_be_stopped() -> None:
    relay = Scripted()
    relay.stop()
    assert not relay.running.is_set()
