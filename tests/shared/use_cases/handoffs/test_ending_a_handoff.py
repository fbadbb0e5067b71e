"""Cancel, resume and terminal turns in every phase of a handoff: one place owns the session."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.domain.handoffs import Handoff, State, Step, Thread
from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.errors import Conflict, HandoffInFlight, Moved, NotSent, SessionBusy, TooLate
from shared.services import Services
from shared.use_cases.handoffs.cancel_handoff import cancel_handoff
from shared.use_cases.offers import kickoff_offer
from shared.use_cases.retry import TRIES
from shared.use_cases.sessions.append_messages import append_messages
from shared.use_cases.sessions.resume_session import resume_session
from shared.use_cases.sessions.save_session import save_session
from shared.use_cases.turns.accept_turn import accept_turn
from tests.support.use_case_world import LEASE, USER, World

THREAD = Thread(Place("chat", "home", "t1"), "https://chat.test/home/t1")


def pending(_: World, __: Handoff) -> None:
    """Not claimed yet."""


def claimed(world: World, handoff: Handoff) -> None:
    now = world.clock.now()
    world.store.handoffs.claim(handoff.id, claimant="p", now=now, lease_until=now + LEASE)


def opened(world: World, handoff: Handoff) -> None:
    claimed(world, handoff)
    world.store.handoffs.step(world.latest(handoff), Step.THREAD_OPENED, now=world.clock.now(), thread=THREAD)


def bound(world: World, handoff: Handoff) -> None:
    """Moved with its kickoff offered, and no run was sent."""
    opened(world, handoff)
    kickoff = kickoff_offer(world.services, handoff, THREAD.place, epoch=1)
    world.store.moves.rebind(world.latest(handoff), kickoff, now=world.clock.now())


def sent(world: World, handoff: Handoff) -> None:
    world.process(handoff)


def confirmed(world: World, handoff: Handoff) -> None:
    """Committed, and not delivered because of a rate limit."""
    world.process(handoff)
    world.platform.next["send"].append(NotSent("down"))
    world.agents()
    world.turn()
    assert world.latest(handoff).confirmed


PHASES: list[Callable[[World, Handoff], None]] = [pending, claimed, opened, bound, sent, confirmed]
UNMOVED = PHASES[:3]


def names(phase: Callable[[World, Handoff], None]) -> str:
    return phase.__name__


def let_everything_happen(world: World, handoff: Handoff) -> None:
    """Process all records, queue messages and sweeps until nothing is left."""
    for _ in range(3):
        world.process(handoff)
        world.turns()
        world.wait(LEASE / 1000)
        world.sweep()
    world.turns()


@pytest.mark.parametrize("phase", PHASES, ids=names)
def test_resume_during_a_handoff_cancels_it(world: World, phase: Callable[[World, Handoff], None]) -> None:
    world.session()
    handoff = world.ask()
    phase(world, handoff)
    before = world.current()

    resumed = resume_session(world.services, USER, "s-1", epoch=before.epoch)
    let_everything_happen(world, handoff)

    ended, session = world.latest(handoff), world.current()
    assert ended.state == State.CANCELLED
    assert ended.error is not None
    assert ended.error.code == "resumed"
    assert (session.owner, session.epoch) == (session.cli, before.epoch + 1) == (resumed.owner, resumed.epoch)
    assert (session.active_handoff, session.turn, session.link) == (None, None, None)


@pytest.mark.parametrize("phase", PHASES[3:], ids=names)
def test_a_thread_that_a_session_leaves_is_told(world: World, phase: Callable[[World, Handoff], None]) -> None:
    world.session()
    handoff = world.ask()
    phase(world, handoff)
    place = world.current().owner

    resume_session(world.services, USER, "s-1", epoch=1)
    let_everything_happen(world, handoff)

    assert ["went back to the terminal" in words for words in world.platform.said(place)] == [True]


def test_resume_with_an_old_epoch_is_refused_and_changes_nothing(world: World) -> None:
    session, _ = world.moved()
    with pytest.raises(Moved):
        resume_session(world.services, USER, "s-1", epoch=0)
    assert world.current() == session


class ConflictingMoves:
    """The `Moves` port of a store where the session changes just before the first `times` moves."""

    def __init__(self, world: World, times: int) -> None:
        self._world, self.times, self.resumes = world, times, 0

    def to_terminal(self, session: Session, *, now: int) -> Session:
        self.resumes += 1
        if self.resumes <= self.times:
            save_session(self._world.services, USER, session.id, {"title": f"renamed {self.resumes}"})
        return self._world.store.moves.to_terminal(session, now=now)


def with_conflicts(world: World, times: int) -> tuple[Services, ConflictingMoves]:
    moves = ConflictingMoves(world, times)
    store = replace(world.store, moves=moves)  # type: ignore[arg-type]  # a resume calls only `to_terminal`
    return replace(world.services, store=store), moves


def test_a_resume_that_others_outpace_is_tried_again(world: World) -> None:
    session, _ = world.moved()
    services, moves = with_conflicts(world, TRIES - 1)

    resumed = resume_session(services, USER, "s-1", epoch=session.epoch)

    assert moves.resumes == TRIES
    assert (resumed.owner, resumed.title) == (session.cli, f"renamed {TRIES - 1}")
    assert world.current() == resumed


def test_a_resume_in_endless_conflict_gives_up(world: World) -> None:
    session, place = world.moved()
    services, moves = with_conflicts(world, times=1000)

    with pytest.raises(Conflict):
        resume_session(services, USER, "s-1", epoch=session.epoch)

    assert moves.resumes == TRIES
    assert (world.current().owner, world.current().epoch) == (place, session.epoch)
    assert not world.queue.waiting


@pytest.mark.parametrize("phase", UNMOVED, ids=names)
def test_cancel_before_the_move_leaves_the_session_where_it_was(
    world: World, phase: Callable[[World, Handoff], None]
) -> None:
    world.session()
    handoff = world.ask()
    phase(world, handoff)

    first = cancel_handoff(world.services, USER, handoff.id)
    again = cancel_handoff(world.services, USER, handoff.id)
    let_everything_happen(world, handoff)

    session = world.current()
    assert first == again == world.latest(handoff)
    assert first.state == State.CANCELLED
    assert (session.owner, session.active_handoff) == (session.cli, None)
    assert world.queue.waiting == []


@pytest.mark.parametrize("phase", PHASES[3:], ids=names)
def test_after_the_move_it_is_too_late_to_cancel(world: World, phase: Callable[[World, Handoff], None]) -> None:
    world.session()
    handoff = world.ask()
    phase(world, handoff)
    before = world.current()

    with pytest.raises(TooLate):
        cancel_handoff(world.services, USER, handoff.id)

    assert world.current() == before
    assert world.latest(handoff).is_open


def test_a_late_process_does_not_revive_a_cancelled_handoff(world: World) -> None:
    """The user cancels while the platform opens the thread."""
    world.session()
    handoff = world.ask()

    def cancel() -> None:
        cancel_handoff(world.services, USER, handoff.id)

    world.platform.next["open_thread"].append(cancel)

    world.process(handoff)

    assert world.latest(handoff).state == State.CANCELLED
    assert world.current().owner == world.current().cli
    assert world.queue.waiting == []


# --- the terminal's own writes


def accept(world: World, session: Session, turn_id: str = "t-1") -> Session:
    return accept_turn(world.services, USER, session.id, epoch=session.epoch, turn_id=turn_id, text="go on")


def test_an_accepted_turn_refuses_a_handoff(world: World) -> None:
    session = world.session()
    accept(world, session)

    with pytest.raises(SessionBusy):
        world.ask()

    world.turns()
    world.process(world.ask(key="later"))
    assert world.current().epoch == 1


@pytest.mark.parametrize("phase", UNMOVED, ids=names)
def test_a_handoff_in_flight_refuses_a_turn(world: World, phase: Callable[[World, Handoff], None]) -> None:
    session = world.session()
    phase(world, world.ask())

    with pytest.raises(HandoffInFlight):
        accept(world, session)

    assert world.store.inbox.get(session.cli, "t-1") is None


def test_after_the_move_the_terminal_is_refused_and_told_where(world: World) -> None:
    old = world.session()
    world.process(world.ask())
    world.turns()

    with pytest.raises(Moved, match="home/t1"):
        accept(world, old)
    with pytest.raises(Moved):
        append_messages(world.services, USER, "s-1", epoch=0, after=4, messages=[{"role": "user", "content": "x"}])
