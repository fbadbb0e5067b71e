"""Turns: offered once, claimed by one executor at a time, renewed, handed back and ended; who wins and who loses."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.domain.handoffs import Handoff
from shared.domain.offers import Offer
from shared.domain.routes import Place
from shared.domain.sessions import Interruption, ResumePending, Session, Turn
from shared.errors import Conflict
from shared.store.inbox import InboxRow
from tests.contracts.store.world import BROKEN, LEASE, NOW, THREAD, Ending, Stage, World, sure
from tests.support.table_backends import FAILED_ITEM, LARGE_TRANSACTIONS, Backend

ELSEWHERE = Place("slack", "C1")


def in_thread(world: World) -> Session:
    """A session that was handed to a thread and lives there."""
    world.ended(Ending.COMPLETED)
    return world.current()


# --- offer


def test_an_offer_gives_the_session_a_turn_with_its_words(world: World) -> None:
    session, rows = in_thread(world), [world.row("0001"), world.row("0002")]

    offered = world.offer(session, rows=rows)

    assert offered == world.current()
    assert offered == replace(session, turn=Turn("t-1"), version=session.version + 1, updated_at=NOW)
    assert world.store.turns.get("s-1", "t-1") == Offer(
        "t-1", "s-1", "ada", THREAD.place, session.epoch, NOW, rows=("0001", "0002")
    )
    assert world.store.inbox.new(THREAD.place, limit=5) == rows


def test_an_accepted_row_is_written_with_its_offer(world: World) -> None:
    session = world.session()
    row = InboxRow(session.cli, "turn-1", "ada", "words", NOW, "ada", epoch=0)
    world.store.turns.offer(session, replace(world.new_offer(session), rows=("turn-1",)), accepted=row)
    assert world.store.inbox.new(session.cli, limit=5) == [row]
    assert world.current().turn == Turn("t-1")


def not_offered(world: World, session: Session, offer: Offer | None = None, **what: object) -> None:
    """The offer is refused and writes nothing."""
    offer = offer or world.new_offer(session)
    stored = world.store.turns.get(session.id, offer.id)
    before, inbox = world.store.sessions.get(session.id), world.store.inbox.new(offer.place, limit=9)
    with pytest.raises(Conflict):
        world.store.turns.offer(session, offer, **what)  # type: ignore[arg-type]  # what each caller gives is right
    assert world.store.sessions.get(session.id) == before
    assert world.store.turns.get(session.id, offer.id) == stored
    assert world.store.inbox.new(offer.place, limit=9) == inbox


def test_a_session_that_changed_since_it_was_read_is_offered_nothing(world: World) -> None:
    read = world.session()
    world.store.sessions.replace(read, replace(read, title="renamed"))
    not_offered(world, read)


def test_a_suspended_session_is_offered_no_words(world: World) -> None:
    """Also if it was read so: what read it may have found it at work a moment before."""
    session, row = in_thread(world), world.row("0001")
    suspended = world.store.sessions.replace(session, replace(session, suspended=True))
    not_offered(world, suspended, world.new_offer(suspended, rows=[row]), rows=[row])


def test_a_session_is_offered_no_turn_for_words_of_another_place(world: World) -> None:
    session = world.session()
    not_offered(world, session, replace(world.new_offer(session), place=ELSEWHERE))


@pytest.mark.parametrize("claimed", [False, True])
def test_a_session_has_one_turn_at_a_time(world: World, claimed: bool) -> None:
    session = world.start_turn(world.session()) if claimed else world.offer(world.session())
    not_offered(world, session, world.new_offer(session, "t-2"))


def test_a_claimed_turn_is_not_replaced_even_after_its_lease(world: World) -> None:
    session = world.start_turn(world.session(), lease=0)
    world.now += LEASE
    not_offered(world, session, world.new_offer(session, "t-2"))


def test_the_id_of_a_turn_is_not_used_again(world: World) -> None:
    session = world.start_turn(world.session())
    committed = world.store.turns.commit(world.turn_commit(session), now=NOW)
    not_offered(world, committed, world.new_offer(committed, "t-1"))


@pytest.mark.parametrize("closed", [0, 1])
def test_a_row_that_is_done_is_not_offered(world: World, closed: int) -> None:
    session, rows = in_thread(world), [world.row("0001"), world.row("0002")]
    world.store.inbox.close([rows[closed]], by="stopped")
    not_offered(world, session, world.new_offer(session, rows=rows), rows=rows)


def test_a_row_that_is_gone_is_not_offered(world: World) -> None:
    session = in_thread(world)
    not_offered(world, session, rows=[InboxRow(THREAD.place, "0404", "7", "?", NOW, "ada")])


@pytest.mark.parametrize("done", [False, True])
def test_a_row_that_is_there_already_is_not_accepted_again(world: World, done: bool) -> None:
    session = world.session()
    row = InboxRow(session.cli, "turn-1", "ada", "words", NOW, "ada", epoch=0)
    assert world.store.inbox.put(row)
    if done:
        world.store.inbox.close([row], by="s-1/t-0")
    not_offered(world, session, accepted=replace(row, text="other words"))


def test_a_deleted_session_is_offered_nothing(world: World) -> None:
    session = world.session()
    world.store.sessions.delete(session)
    not_offered(world, session)


def test_twenty_five_rows_are_offered_and_claimed_at_once(world: World, backend: Backend) -> None:
    backend.needs(LARGE_TRANSACTIONS)
    session, rows = in_thread(world), [world.row(f"{number:04}") for number in range(25)]
    claimed = world.start_turn(session, rows=rows)
    assert sure(claimed.turn).is_claimed
    assert len(sure(world.store.turns.get("s-1", "t-1")).rows) == 25


# --- the offer of a kickoff whose turn was lost


def without_kickoff(world: World) -> tuple[Session, Handoff]:
    """A bound handoff whose session has no turn."""
    bound = world.handoff(Stage.BOUND)
    assert world.store.turns.end(world.current(), now=NOW)
    return world.current(), bound


def test_the_kickoff_of_a_bound_handoff_is_offered_again(world: World) -> None:
    session, bound = without_kickoff(world)
    kickoff = world.kickoff(bound)
    world.store.turns.offer(session, kickoff, handoff=bound)
    assert world.current().turn == Turn(kickoff.id)
    assert world.store.turns.get("s-1", kickoff.id) == kickoff


def test_a_confirmed_handoff_has_no_second_kickoff(world: World) -> None:
    confirmed = world.handoff(Stage.CONFIRMED)
    not_offered(world, world.current(), world.kickoff(confirmed), handoff=confirmed)


@pytest.mark.parametrize("stage", [Stage.PENDING, Stage.CLAIMED, Stage.OPENED])
def test_a_handoff_that_is_not_bound_has_no_kickoff(world: World, stage: Stage) -> None:
    handoff = world.handoff(stage)
    session = world.current()
    not_offered(world, session, replace(world.new_offer(session), handoff_id=handoff.id), handoff=handoff)


@pytest.mark.parametrize("ending", Ending, ids=lambda ending: ending.name.lower())
def test_an_ended_handoff_has_no_kickoff(world: World, ending: Ending) -> None:
    ended = world.ended(ending)
    session = world.current()
    not_offered(world, session, replace(world.new_offer(session), handoff_id=ended.id), handoff=ended)


def test_a_handoff_that_failed_after_it_was_bound_has_no_kickoff(world: World) -> None:
    bound = world.handoff(Stage.BOUND)
    sure(world.store.handoffs.fail(bound, BROKEN, now=NOW))
    session = world.current()
    not_offered(world, session, replace(world.new_offer(session), handoff_id=bound.id), handoff=bound)


# --- claim


def test_a_claim_takes_a_fence_and_a_lease_and_begins(world: World) -> None:
    offered = world.offer(world.session())

    claimed = world.claim_turn(offered, now=NOW + 5)

    assert claimed == world.current()
    turn = Turn("t-1", fence=1, is_claimed=True, lease_until=NOW + 5 + LEASE, begun=1, claim_id="c-1")
    assert claimed == replace(offered, turn=turn, version=offered.version + 1)


def not_claimed(world: World, session: Session, rows: list[InboxRow] | None = None, *, now: int = NOW) -> None:
    before = world.store.sessions.get(session.id)
    with pytest.raises(Conflict):
        world.claim_turn(session, rows or [], claim_id="c-2", now=now)
    assert world.store.sessions.get(session.id) == before


@pytest.mark.parametrize("rows", [0, 1])
def test_a_turn_is_claimed_by_one_executor(world: World, rows: int) -> None:
    words = [world.row() for _ in range(rows)]
    offered = world.offer(in_thread(world), rows=words)
    claimed = world.claim_turn(offered, words)
    not_claimed(world, offered, words)  # as it was read before the other claim
    not_claimed(world, claimed, words)  # as it is now


@pytest.mark.parametrize(("after", "wins"), [(-1, False), (0, True), (1, True)])
def test_a_turn_is_claimed_again_when_its_lease_is_over(world: World, after: int, wins: bool) -> None:
    first = world.start_turn(world.session())
    if not wins:
        not_claimed(world, first, now=NOW + LEASE + after)
        return
    second = world.claim_turn(first, claim_id="c-2", now=NOW + LEASE + after)
    assert second == world.current()
    turn = sure(second.turn)
    assert (turn.fence, turn.begun, turn.claim_id) == (2, 2, "c-2")
    assert turn.lease_until == NOW + 2 * LEASE + after


@pytest.mark.parametrize("closed", [0, 1])
def test_a_turn_whose_words_were_closed_is_not_claimed(world: World, closed: int) -> None:
    rows = [world.row("0001"), world.row("0002")]
    offered = world.offer(in_thread(world), rows=rows)
    world.store.inbox.close([rows[closed]], by="stopped")
    not_claimed(world, offered, rows)


def test_a_turn_is_not_claimed_for_words_that_are_gone(world: World) -> None:
    offered = world.offer(in_thread(world))
    not_claimed(world, offered, [InboxRow(THREAD.place, "0404", "7", "?", NOW, "ada")])


ENDS: dict[str, Callable[[World, Session], object]] = {
    "ended": lambda world, session: world.store.turns.end(session, now=NOW),
    "moved away": lambda world, _: world.store.moves.to_terminal(world.current(), now=NOW),
    "deleted": lambda world, _: world.store.sessions.delete(world.current()),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("rows", [0, 1])
def test_a_turn_that_is_over_is_not_claimed(world: World, end: str, rows: int) -> None:
    words = [world.row() for _ in range(rows)]
    offered = world.offer(in_thread(world), rows=words)
    ENDS[end](world, offered)
    not_claimed(world, offered, words)


CHANGES: dict[str, Callable[[Session], Session]] = {
    "another epoch": lambda session: replace(session, epoch=session.epoch + 1),
    "another owner": lambda session: replace(session, owner=ELSEWHERE),
    "another fence": lambda session: replace(session, turn=Turn("t-1", fence=7)),
    "another turn": lambda session: replace(session, turn=Turn("t-2")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_turn_of_a_session_that_changed_is_not_claimed(world: World, change: str) -> None:
    offered = world.offer(world.session())
    world.store.sessions.replace(offered, CHANGES[change](offered))
    not_claimed(world, offered)


def test_a_new_title_does_not_make_a_claim_fail(world: World) -> None:
    offered = world.offer(world.session())
    world.store.sessions.replace(offered, replace(offered, title="new"))
    world.claim_turn(offered)
    assert (world.current().title, sure(world.current().turn).fence) == ("new", 1)


@pytest.mark.parametrize("rows", [0, 1])
def test_the_same_claim_again_has_the_same_answer(world: World, backend: Backend, rows: int) -> None:
    backend.needs(FAILED_ITEM)
    words = [world.row() for _ in range(rows)]
    offered = world.offer(in_thread(world), rows=words)
    claimed = world.claim_turn(offered, words)

    assert world.claim_turn(offered, words, now=NOW + 5) == claimed  # what it read before its first try
    assert world.claim_turn(claimed, words, now=NOW + 5) == claimed  # what it reads now
    assert world.current() == claimed


def test_the_same_claim_of_a_turn_that_is_over_is_refused(world: World) -> None:
    offered = world.offer(world.session())
    claimed = world.claim_turn(offered)
    assert world.store.turns.end(claimed, now=NOW)
    with pytest.raises(Conflict):
        world.claim_turn(offered)


def test_the_same_claim_of_a_turn_that_was_handed_back_is_refused(world: World) -> None:
    offered = world.offer(world.session())
    assert world.store.turns.hand_back(world.claim_turn(offered), now=NOW, until=NOW, interrupted=None)
    with pytest.raises(Conflict):
        world.claim_turn(offered)


def test_a_claim_without_a_turn_is_a_value_error(world: World) -> None:
    with pytest.raises(ValueError, match="no turn"):
        world.claim_turn(world.session())


# --- what the next run is told


def test_a_killed_run_is_marked_for_the_next(world: World) -> None:
    rows = [world.row()]
    first = world.start_turn(in_thread(world), rows=rows)
    assert first.resume_pending is None
    second = world.claim_turn(first, rows, claim_id="c-2", now=NOW + 5 * LEASE)
    assert second.resume_pending == ResumePending(Interruption.KILLED, NOW + LEASE)
    assert world.current() == second


def test_a_killed_kickoff_leaves_no_mark_on_the_session(world: World) -> None:
    world.handoff(Stage.BOUND)
    first = world.claim_turn(world.current())
    second = world.claim_turn(first, claim_id="c-2", now=NOW + LEASE)
    assert (second.resume_pending, sure(second.turn).begun) == (None, 2)
    assert world.current() == second


def test_a_first_claim_keeps_the_mark_of_an_earlier_turn(world: World) -> None:
    mark = ResumePending(Interruption.OUT_OF_TIME, NOW - 5)
    claimed = world.start_turn(world.session(resume_pending=mark))
    assert claimed.resume_pending == mark
    assert world.current() == claimed


# --- renew


def test_a_renewed_lease_keeps_others_away(world: World) -> None:
    session = world.start_turn(world.session())
    assert world.store.turns.renew(session, lease_until=NOW + 2 * LEASE)
    renewed = world.current()
    turn = replace(sure(session.turn), lease_until=NOW + 2 * LEASE)
    assert renewed == replace(session, turn=turn, version=session.version + 1)
    not_claimed(world, renewed, now=NOW + LEASE)
    world.store.turns.commit(world.turn_commit(session), now=NOW)
    assert world.current().turn is None


def test_a_lease_that_is_over_is_renewed_while_no_other_has_claimed(world: World) -> None:
    session = world.start_turn(world.session(), lease=0)
    assert world.store.turns.renew(session, lease_until=NOW + LEASE)
    not_claimed(world, world.current())


# --- hand back


@pytest.mark.parametrize("rows", [0, 1])
def test_a_turn_handed_back_is_claimed_again_at_once(world: World, rows: int) -> None:
    words = [world.row() for _ in range(rows)]
    session = world.start_turn(in_thread(world), rows=words)
    assert world.store.turns.hand_back(session, now=NOW, until=NOW, interrupted=None)
    offered = world.current()
    assert offered == replace(session, turn=Turn("t-1", fence=2, lease_until=NOW, tries=1), version=session.version + 1)
    again = world.claim_turn(offered, words, claim_id="c-2")
    assert (sure(again.turn).fence, sure(again.turn).begun, sure(again.turn).tries) == (3, 1, 1)
    assert again.resume_pending is None


def test_a_run_that_was_interrupted_counts_and_is_marked(world: World) -> None:
    session = world.start_turn(world.session())
    assert world.store.turns.hand_back(session, now=NOW + 5, until=NOW + 5, interrupted=Interruption.OUT_OF_TIME)
    offered = world.current()
    assert offered.turn == Turn("t-1", fence=2, lease_until=NOW + 5, begun=1)
    assert offered.resume_pending == ResumePending(Interruption.OUT_OF_TIME, NOW + 5)
    assert sure(world.claim_turn(offered, now=NOW + 5).turn).begun == 2


def test_a_kickoff_that_was_interrupted_counts_and_leaves_no_mark(world: World) -> None:
    world.handoff(Stage.BOUND)
    session = world.claim_turn(world.current())
    assert world.store.turns.hand_back(session, now=NOW, until=NOW, interrupted=Interruption.REDELIVERED, marks=False)
    offered = world.current()
    assert (sure(offered.turn).begun, sure(offered.turn).tries, offered.resume_pending) == (1, 0, None)


def test_a_turn_handed_back_with_a_pause_is_claimed_after_it(world: World) -> None:
    session = world.start_turn(world.session())
    assert world.store.turns.hand_back(session, now=NOW, until=NOW + 2 * LEASE, interrupted=None)
    offered = world.current()
    assert offered.turn == Turn("t-1", fence=2, lease_until=NOW + 2 * LEASE, tries=1)
    not_claimed(world, offered, now=NOW + 2 * LEASE - 1)
    again = world.claim_turn(offered, claim_id="c-2", now=NOW + 2 * LEASE)
    assert (sure(again.turn).fence, again.resume_pending) == (3, None)


def test_a_turn_in_a_pause_is_ended_like_any_other(world: World) -> None:
    session = world.start_turn(world.session())
    assert world.store.turns.hand_back(session, now=NOW, until=NOW + LEASE, interrupted=None)
    assert world.store.turns.end(session, now=NOW)
    assert world.current().turn is None


# --- end


@pytest.mark.parametrize("claimed", [False, True])
def test_an_end_removes_the_turn_whoever_works_on_it(world: World, claimed: bool) -> None:
    row = world.row()
    session = world.offer(in_thread(world), rows=[row])
    if claimed:
        session = world.claim_turn(session, [row])
    assert world.store.turns.end(session, now=NOW + 3)
    assert world.current() == replace(session, turn=None, version=session.version + 1, updated_at=NOW + 3)
    assert world.store.inbox.new(THREAD.place, limit=5) == [row]
    assert [offer.id for offer in world.store.turns.unsettled("s-1")] == ["t-1"]


def test_an_end_needs_the_id_only(world: World) -> None:
    """A person's /stop stops the turn that it saw, although an executor has claimed or renewed it since."""
    seen = world.offer(world.session())
    claimed = world.claim_turn(seen)
    assert world.store.turns.renew(claimed, lease_until=NOW + 2 * LEASE)
    assert world.store.turns.end(seen, now=NOW)
    assert world.current().turn is None


def test_a_late_end_does_not_stop_the_next_turn(world: World) -> None:
    seen = world.offer(world.session())
    assert world.store.turns.end(seen, now=NOW)
    following = world.offer(world.current(), "t-2")
    assert not world.store.turns.end(seen, now=NOW)
    assert world.current() == following


# --- renew, hand back and end by an executor that has lost its turn


def taken_over(world: World, session: Session) -> None:
    world.claim_turn(session, claim_id="c-2", now=NOW + LEASE)


def handed_back(world: World, session: Session) -> None:
    assert world.store.turns.hand_back(session, now=NOW, until=NOW, interrupted=None)


def committed(world: World, session: Session) -> None:
    world.store.turns.commit(world.turn_commit(session), now=NOW)


def followed(world: World, session: Session) -> None:
    committed(world, session)
    world.start_turn(world.current(), "t-2")


def changed(change: str) -> Callable[[World, Session], object]:
    return lambda world, session: world.store.sessions.replace(session, CHANGES[change](session))


LOSSES: dict[str, Callable[[World, Session], object]] = {
    **ENDS,
    "taken over": taken_over,
    "handed back": handed_back,
    "committed": committed,
    "followed": followed,
    **{change: changed(change) for change in CHANGES},
}
WRITES: dict[str, Callable[[World, Session], bool]] = {
    "renew": lambda w, session: w.store.turns.renew(session, lease_until=NOW + 9 * LEASE),
    "hand back": lambda w, session: w.store.turns.hand_back(session, now=NOW, until=NOW, interrupted=None),
    "hand back, interrupted": lambda w, session: w.store.turns.hand_back(
        session, now=NOW, until=NOW, interrupted=Interruption.KILLED
    ),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("write", WRITES)
def test_an_executor_that_lost_its_turn_changes_nothing(world: World, write: str, loss: str) -> None:
    session = world.start_turn(world.session())
    LOSSES[loss](world, session)
    before = world.store.sessions.get("s-1")
    assert WRITES[write](world, session) is False
    assert world.store.sessions.get("s-1") == before


@pytest.mark.parametrize("write", WRITES)
def test_a_turn_that_is_offered_is_neither_renewed_nor_handed_back(world: World, write: str) -> None:
    offered = world.offer(world.session())
    assert WRITES[write](world, offered) is False
    assert world.current() == offered


@pytest.mark.parametrize("end", [*ENDS, "committed"])
def test_a_turn_that_is_over_is_not_ended_again(world: World, end: str) -> None:
    session = world.start_turn(world.session())
    LOSSES[end](world, session)
    before = world.store.sessions.get("s-1")
    assert world.store.turns.end(session, now=NOW) is False
    assert world.store.sessions.get("s-1") == before


@pytest.mark.parametrize("write", [*WRITES, "end"])
def test_a_session_without_a_turn_is_a_value_error(world: World, write: str) -> None:
    session = world.session()
    ends: dict[str, Callable[[World, Session], bool]] = {"end": lambda w, s: w.store.turns.end(s, now=NOW)}
    with pytest.raises(ValueError, match="no turn"):
        (WRITES | ends)[write](world, session)
