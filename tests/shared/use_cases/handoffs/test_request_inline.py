"""Requests with an inline transcript: repeated, refused and concurrent ones."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shared.aws.tables import DynamoTables
from shared.domain.limits import NO_LIMITS, Limits
from shared.errors import HandoffInFlight, IdempotencyKeyReused, Moved, OutOfSequence
from shared.store.bundle import store_on
from shared.use_cases.access import id_for
from shared.use_cases.handoffs.request_handoff import Accepted, HandoffRequest
from shared.use_cases.handoffs.request_inline import InlineTranscript, request_inline
from shared.use_cases.sessions.resume_session import resume_session
from shared.use_cases.sessions.save_session import save_session
from tests.support.fake_queue import ManualClock
from tests.support.tables import TableNames
from tests.support.use_case_world import USER, CompetingAction, World

SAID = ({"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"})
OTHER = ({"role": "user", "content": "something else"},)


class Interrupted(ManualClock):
    """Runs a competing action once, when the time is read."""

    def __init__(self, others: Callable[[], object]) -> None:
        super().__init__()
        self._others: Callable[[], object] | None = others

    def now(self) -> int:
        others, self._others = self._others, None
        if others:
            others()
        return super().now()


def _ask(world: World, whole: InlineTranscript, key: str | None = "k") -> Accepted:
    return request_inline(world.services, USER, whole, HandoffRequest("", "chat", 0), idempotency_key=key)


@pytest.mark.parametrize("session_id", [None, "s-1"])
def test_a_twin_that_was_quicker_gives_both_the_same_handoff(world: World, session_id: str | None) -> None:
    whole = InlineTranscript(SAID, id=session_id, title="Parser")
    first: list[Accepted] = []
    slow = replace(world.services, platforms=CompetingAction(world, lambda: first.append(_ask(world, whole))))

    second = request_inline(slow, USER, whole, HandoffRequest("", "chat", 0), idempotency_key="k")

    assert second.handoff == first[0].handoff
    assert second.session == world.current(second.handoff.session_id)
    assert world.transcript(second.handoff.session_id) == list(SAID)


def test_a_repeat_of_a_finished_request_gives_its_handoff(world: World) -> None:
    whole = InlineTranscript(SAID, id="s-1")

    def quicker() -> None:
        world.process(_ask(world, whole).handoff)
        world.turns()

    slow = replace(world.services, platforms=CompetingAction(world, quicker))
    second = request_inline(slow, USER, whole, HandoffRequest("", "chat", 0), idempotency_key="k")

    assert not second.handoff.is_open
    assert second.session == world.current()
    assert not world.current().owner.is_cli


def test_a_key_used_for_another_transcript_is_refused(world: World) -> None:
    others = InlineTranscript(SAID, id="s-1")
    slow = replace(world.services, platforms=CompetingAction(world, lambda: _ask(world, others)))
    with pytest.raises(IdempotencyKeyReused):
        request_inline(
            slow, USER, InlineTranscript(OTHER, id="s-1"), HandoffRequest("", "chat", 0), idempotency_key="k"
        )
    assert world.transcript() == list(SAID)


def test_a_session_that_another_request_hands_over_is_in_flight(world: World) -> None:
    _ask(world, InlineTranscript(SAID, id="s-1"))
    with pytest.raises(HandoffInFlight):
        _ask(world, InlineTranscript(SAID, id="s-1"), key="another")


@pytest.mark.parametrize("title", ["Parser", "Renamed"])
def test_a_session_resumed_elsewhere_is_not_handed_off(world: World, title: str) -> None:
    world.session()
    clock = Interrupted(lambda: resume_session(world.services, USER, "s-1", epoch=0))
    slow = replace(world.services, clock=clock)

    with pytest.raises(Moved):
        request_inline(
            slow,
            USER,
            InlineTranscript(SAID, id="s-1", title=title),
            HandoffRequest("", "chat", 0),
            idempotency_key="k",
        )

    assert world.current().active_handoff is None


def test_a_title_is_not_changed_by_a_request_that_is_refused(world: World) -> None:
    session_id = id_for(USER, "session of k")  # as it stands after a first try that broke off
    save_session(world.services, USER, session_id, {"title": "Parser"})
    world.store.transcripts.append(world.current(session_id), SAID, now=world.clock.now())
    before = world.current(session_id)

    with pytest.raises(OutOfSequence):
        _ask(world, InlineTranscript(OTHER, title="Renamed"))

    assert world.current(session_id) == before


def test_a_try_that_broke_off_is_finished_by_its_repeat(world: World) -> None:
    session_id = id_for(USER, "session of k")
    save_session(world.services, USER, session_id, {"title": "Parser"})

    accepted = _ask(world, InlineTranscript(SAID, title="Parser"))

    assert accepted.handoff.session_id == session_id
    assert world.transcript(session_id) == list(SAID)
    assert world.current(session_id).active_handoff == accepted.handoff.id


LIMITS = Limits(open_handoffs=20, turns_per_hour=120, stored_bytes=10**6)


@pytest.mark.tier("test")
@pytest.mark.parametrize(("limits", "counted"), [(NO_LIMITS, []), (LIMITS, ["UpdateItem"])])
def test_a_fresh_one_is_accepted_with_few_calls_to_the_tables(
    dynamodb: Any, tables: TableNames, limits: Limits, counted: list[str]
) -> None:
    world = World(store_on(DynamoTables(dynamodb, handoffs=tables.handoffs, sessions=tables.sessions), limits))
    world.store.usage.take_turn(USER, "earlier in this hour", now=world.clock.now())
    calls: list[str] = []
    note: Callable[..., None] = lambda model, **_: calls.append(model.name)  # noqa: E731 - taken off again below
    dynamodb.meta.events.register("before-call.dynamodb", note)
    try:
        _ask(world, InlineTranscript(SAID, title="Parser"))
    finally:
        dynamodb.meta.events.unregister("before-call.dynamodb", note)
    # The key, the home; the session, its messages, the handoff.
    upload, request = [*counted, "TransactWriteItems"], [*counted, "TransactWriteItems"]
    assert calls == ["GetItem", "GetItem", "PutItem", *upload, *request]
