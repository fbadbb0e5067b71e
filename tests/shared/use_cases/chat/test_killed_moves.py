"""A move from chat to chat, killed before each single call to the store, the queues and the platform: it is done once."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.handoffs import State
from shared.domain.routes import Place
from shared.errors import AgentFailed
from shared.ports.inbound import WebhookRequest
from shared.store.bundle import store_on
from shared.use_cases.chat.receive_message import receive_message
from tests.support.fake_platform import FakePlatforms
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import USER, World

WRITES = ("put", "update", "delete", "transact", "delete_all")
EFFECTS = ("open_thread", "send")
MANY_POINTS, MOST_POINTS = 25, 400
ASKED = b"0002|t1|/handoff chat|ada-there\n0003|t1|and now?|ada-there"


class Killed(BaseException):
    """The process dies here."""


class KilledAt:
    """Kills the process before call number `at`. Reads change nothing, so only calls with an effect count."""

    def __init__(self) -> None:
        self.at = -1
        self.calls = 0
        self.name = ""

    def watched(self, target: Any, *names: str) -> Any:
        for name in names:
            setattr(target, name, self._before(name, getattr(target, name)))
        return target

    def _before(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            if self.calls == self.at:
                self.calls, self.at, self.name = self.calls + 1, -1, name
                raise Killed
            self.calls += 1
            return call(*arguments, **options)

        return counted


class Service:
    """A world in which a killed function is started again by what started it."""

    def __init__(self) -> None:
        self.kill = KilledAt()
        self.world = World(store_on(self.kill.watched(MemoryTables(), *WRITES)))
        self.kill.watched(self.world.platform, *EFFECTS)
        self.kill.watched(self.world.queue, "send")
        self.kill.watched(self.world.runs, "send")
        self.world.services = replace(self.world.services, platforms=FakePlatforms(self.world.platform))
        self.place = self.world.moved()[1]
        self.world.runs.waiting.clear()
        self.kill.calls = 0

    def until_done(self, work: Callable[[], object]) -> None:
        """Run it again after it was killed, later: a lease may have to pass."""
        while True:
            try:
                work()
            except Killed:
                self.world.wait(120)
            else:
                return

    def move(self) -> None:
        """The webhook, then all functions until nothing is left to do."""
        self.until_done(
            lambda: receive_message(self.world.services, "chat", WebhookRequest(ASKED, {"signature": "good"}))
        )
        for _ in range(200):
            self.until_done(self._step)
            if not self.world.queue.waiting and not self._pending() and self.world.next_at() is None:
                return
        raise AssertionError(f"a loop: {self.world.queue.waiting}")

    def _step(self) -> None:
        world = self.world
        for handoff_id in self._pending():  # the stream repeats a record until it is processed
            found = world.store.handoffs.get(handoff_id)
            if found is not None:
                world.process(found)
        world.agents()
        if world.turn() is None and (due := world.next_at()) is not None:
            world.clock.time = max(world.clock.time, due)
        world.sweep()

    def _pending(self) -> list[str]:
        found = self.world.store.handoffs.list(USER, session_id=None, state=None, limit=9)
        return [handoff.id for handoff in found if handoff.is_open and not handoff.is_bound]


def old_thread(world: World, place: Place) -> list[str]:
    return world.platform.said(place)[1:]


@pytest.mark.parametrize("fails", [False, True], ids=["completed", "failed"])
def test_a_move_that_dies_anywhere_is_done_once(*, fails: bool) -> None:
    for at in range(MOST_POINTS):
        service = Service()
        world, kill = service.world, service.kill
        if fails:
            world.agent.next.extend(AgentFailed("no such model") for _ in range(2))
        kill.at = at
        service.move()
        if kill.at >= 0:
            assert at > MANY_POINTS, "few points: something is not watched"
            return

        point = f"killed before call {at} ({kill.name})"
        found = world.store.handoffs.list(USER, session_id=None, state=None, limit=9)
        (moved,) = [handoff for handoff in found if handoff.command is not None]
        assert moved.state is (State.FAILED if fails else State.COMPLETED), point
        session, texts = world.current(), old_thread(world, service.place)
        assert session.active_handoff is None, point
        assert session.turn is None, point
        assert sum("Moving this session" in text for text in texts) == 1, (point, texts)
        if fails:
            assert (session.owner, session.epoch) == (service.place, 3), point
            assert sum("failed: no such model" in text for text in texts) == 1, (point, texts)
            assert world.transcript()[4]["content"] == "and now?", point
        else:
            assert session.owner != service.place, point
            assert session.epoch == 2, point
            assert sum("This session moved to chat" in text for text in texts) == 1, (point, texts)
            assert sum("now lives in" in text for text in texts) == 1, (point, texts)
            assert len(world.platform.said(session.owner)) == 1, point
        assert world.store.inbox.new(service.place, limit=9) == [], point
        assert world.store.turns.unsettled("s-1") == [], point
    raise AssertionError("the move never ends without a kill")
