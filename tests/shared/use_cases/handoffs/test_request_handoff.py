"""Requests for a handoff: checked against the session's epoch, once per key."""

from dataclasses import replace

import pytest

from shared.domain.handoffs import Handoff
from shared.errors import Moved
from shared.use_cases.handoffs.request_handoff import HandoffRequest, request_handoff
from tests.support.use_case_world import USER, CompetingAction, World


def test_concurrent_equal_requests_get_the_same_handoff(world: World) -> None:
    world.session()
    first: list[Handoff] = []

    def be_quicker() -> None:
        first.append(world.ask())
        world.process(first[0])

    slow = replace(world.services, platforms=CompetingAction(world, be_quicker))

    second = request_handoff(slow, USER, HandoffRequest("s-1", "chat", 0), idempotency_key="k s-1")

    assert second.handoff == world.latest(first[0])
    assert second.session == world.current()


@pytest.mark.parametrize("epoch", [-1, 1])
def test_another_epoch_is_refused_without_a_write(world: World, epoch: int) -> None:
    before = world.session()

    with pytest.raises(Moved):
        world.ask(epoch=epoch)

    assert world.current() == before
