"""Finding the session of a message: what each place and each user gets."""

from dataclasses import replace

import pytest

from shared.domain.handoffs import Handoff, State, Step, Thread
from shared.domain.routes import Place, cli_place
from shared.errors import Busy, NotYet
from shared.store.inbox import InboxRow
from shared.use_cases.chat.locate_session import Broken, Elsewhere, Found, NotAddressed, Vacant, locate_session
from tests.support.use_case_world import HOME, USER, World, with_listed_handoffs

THREAD = Place("chat", "home", "t9")
PENDING = Handoff(
    *("h", "s", USER, "chat", HOME, cli_place("s"), 0, "hash", State.PENDING),
    deadline=900_000,
    created_at=0,
    updated_at=0,
)


def said(place: Place, user: str = USER) -> InboxRow:
    return InboxRow(place, "0001", "ada-there", "hello", 0, user)


def test_a_session_is_found_where_it_lives(world: World) -> None:
    session, place = world.moved()
    assert locate_session(world.services, said(place)) == Found(session)


def test_a_home_without_a_session_is_vacant(world: World) -> None:
    assert locate_session(world.services, said(HOME)) == Vacant()
    assert world.store.sessions.at(HOME) is None, "nothing was written"


def test_another_users_place_is_not_addressed_to_us(world: World) -> None:
    _, place = world.moved()
    assert locate_session(world.services, said(place, "bob")) == NotAddressed()


def test_a_chat_that_is_no_home_is_not_addressed_to_us(world: World) -> None:
    assert locate_session(world.services, said(Place("chat", "elsewhere"))) == NotAddressed()


def test_a_thread_in_the_home_explains_what_to_do(world: World) -> None:
    found = locate_session(world.services, said(THREAD))
    assert isinstance(found, Elsewhere)
    assert "/resume" in found.notice


def test_a_suspended_session_is_broken(world: World) -> None:
    session, place = world.moved()
    suspended = world.store.sessions.replace(session, replace(session, suspended=True))

    found = locate_session(world.services, said(place))

    assert isinstance(found, Broken)
    assert found.session == suspended


@pytest.mark.parametrize(
    "handoff",
    [
        replace(PENDING, state=State.COMPLETED),
        replace(PENDING, bound_epoch=1),
        replace(PENDING, platform="another"),
        replace(PENDING, target=Place("chat", "another")),
        replace(PENDING, thread=Thread(Place("chat", "home", "t1"), "")),
    ],
    ids=["ended", "bound", "on another platform", "in another chat", "with another thread"],
)
def test_a_thread_does_not_wait_for_other_handoffs(world: World, handoff: Handoff) -> None:
    services = with_listed_handoffs(world.services, [handoff])
    assert isinstance(locate_session(services, said(THREAD)), Elsewhere)


@pytest.mark.parametrize(("newer", "waits"), [(9, True), (10, False)])
def test_a_thread_waits_for_the_newest_ten_handoffs(world: World, newer: int, waits: bool) -> None:
    services = with_listed_handoffs(world.services, [*[replace(PENDING, state=State.COMPLETED)] * newer, PENDING])

    if waits:
        with pytest.raises(NotYet):
            locate_session(services, said(THREAD))
    else:
        assert isinstance(locate_session(services, said(THREAD)), Elsewhere)


OPENING = replace(PENDING, steps={Step.OPENING_THREAD.value: 0})
CHANNEL = Place("chat", "t1")


@pytest.mark.parametrize("handoff", [PENDING, OPENING], ids=["pending", "opening its thread"])
def test_an_unknown_chat_never_waits_for_a_handoff(world: World, handoff: Handoff) -> None:
    services = with_listed_handoffs(world.services, [handoff])
    assert locate_session(services, said(Place("chat", "unrelated"))) == NotAddressed()


def test_a_thread_without_a_parent_waits_for_its_handoff(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.platform, "find_thread", lambda *_, **__: CHANNEL)
    services = with_listed_handoffs(world.services, [OPENING])

    with pytest.raises(Busy):
        locate_session(services, said(CHANNEL))


def test_words_in_an_unknown_chat_are_received_once(world: World) -> None:
    world.session()
    world.ask()
    world.say(unrelated := Place("chat", "unrelated"), "hello all", "0001")

    assert world.turns() == 1

    assert not world.platform.posts[unrelated]


def test_a_thread_waits_for_its_handoff_with_growing_pauses(world: World) -> None:
    world.session()
    world.ask()
    world.say(THREAD, "anybody?", "0001")

    pauses = []
    for _ in range(6):
        world.turn()
        pauses.append((world.queue.next_at() - world.clock.now()) // 1000)
        world.clock.time = world.queue.next_at()

    assert pauses == [1, 2, 4, 8, 15, 15]
