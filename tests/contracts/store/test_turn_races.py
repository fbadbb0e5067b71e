"""Two processes at one turn, interleaved at every call: one of them wins, and what is stored is whole."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from shared.domain.handoffs import Handoff, Thread
from shared.domain.messages import Message
from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.errors import Conflict, SessionBusy
from shared.store.bundle import Store
from shared.store.inbox import InboxRow
from tests.contracts.store.schedules import Actor
from tests.contracts.store.schedules import every_order as in_every_order
from tests.contracts.store.world import BROKEN, LEASE, NOW, RECEIPT, Stage, World, sure
from tests.support.table_backends import Backend

NUMBERS = itertools.count()
EveryOrder = Callable[[Callable[["Case"], tuple[Actor, Actor]]], Iterator[tuple["Case", Any, Any]]]


@dataclass
class Case:
    """A session in a chat with one message from a person, where a turn may be offered and claimed."""

    world: World
    session: Session
    row: InboxRow

    @property
    def current(self) -> Session:
        return self.world.current(self.session.id)

    @property
    def row_done_by(self) -> str | None:
        return sure(self.world.store.inbox.get(self.row.place, self.row.event_id)).done_by

    @property
    def transcript(self) -> list[Message]:
        return list(self.world.store.transcripts.load(self.session.id))

    @property
    def journal(self) -> int:
        return len(self.world.store.outbox.journal(self.session.id, self.turn_id))

    @property
    def turn_id(self) -> str:
        return f"t-{self.session.id}"

    def offered(self) -> Session:
        return self.world.offer(self.session, self.turn_id, [self.row])

    def claimed(self, *, lease: int = LEASE) -> Session:
        return self.world.claim_turn(self.offered(), [self.row], claim_id="c-0", lease=lease)

    def is_answered_once(self) -> None:
        """The turn was committed, whole."""
        assert self.row_done_by == f"{self.session.id}/{self.turn_id}"
        assert (len(self.transcript), self.journal, self.current.message_count) == (2, 1, 2)
        assert self.current.turn is None

    def is_unanswered(self, *, row_done_by: str | None = None) -> None:
        """Nothing of the turn was committed."""
        assert (self.row_done_by, self.transcript, self.journal) == (row_done_by, [], 0)


@pytest.fixture
def every_order(world: World, backend: Backend) -> EveryOrder:
    """Runs both actors of a fresh case in every order of their calls."""

    def made() -> Case:
        number = next(NUMBERS)
        place = Place("telegram", "1001", f"case-{number}")
        session = world.store.moves.to_chat(world.session(f"s-{number}"), place, "https://t.me", now=NOW)
        return Case(world, session, world.row(place=place))

    return partial(in_every_order, backend.tables, made)


# --- the processes; each reads for itself, as another function would


def claimer(case: Case, claim_id: str) -> Actor:
    """What a Run does: it looks whether its turn is alive, and claims it."""

    def act(store: Store) -> Session:
        session = sure(store.sessions.get(case.session.id))
        if session.turn is None or session.turn.id != case.turn_id:
            raise Conflict("over")
        return store.turns.claim(session, [case.row], claim_id=claim_id, now=NOW, lease_until=NOW + LEASE)

    return act


def executor(case: Case, claim_id: str) -> Actor:
    def act(store: Store) -> Session:
        claimed = claimer(case, claim_id)(store)
        return store.turns.commit(case.world.turn_commit(claimed, rows=[case.row]), now=NOW)

    return act


def committer(case: Case, held: Session, **commit: Any) -> Actor:
    return lambda store: store.turns.commit(case.world.turn_commit(held, rows=[case.row], **commit), now=NOW)


def stopper(case: Case) -> Actor:
    """What /stop does: it closes the words, then ends the turn that it sees."""

    def act(store: Store) -> bool:
        store.inbox.close([case.row], by="stopped")
        session = sure(store.sessions.get(case.session.id))
        return session.turn is not None and store.turns.end(session, now=NOW)

    return act


def offerer(case: Case, turn_id: str) -> Actor:
    def act(store: Store) -> Session:
        session = sure(store.sessions.get(case.session.id))
        offer = replace(case.world.new_offer(session, turn_id, [case.row]), place=case.row.place)
        return store.turns.offer(session, offer, rows=[case.row])

    return act


def mover(case: Case) -> Actor:
    def act(store: Store) -> Session:
        while True:
            try:
                return store.moves.to_terminal(sure(store.sessions.get(case.session.id)), now=NOW)
            except Conflict:
                continue

    return act


# --- the races


def test_of_two_claims_one_answers(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        one.offered()
        return executor(one, "c-1"), executor(one, "c-2")

    for one, *outcomes in every_order(prepare):
        assert sum(isinstance(outcome, Session) for outcome in outcomes) == 1
        one.is_answered_once()


def test_a_successor_and_a_slow_executor_answer_once(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held = one.claimed(lease=0)
        return committer(one, held), executor(one, "c-2")

    for one, slow, successor in every_order(prepare):
        assert isinstance(slow, Session) is not isinstance(successor, Session)
        one.is_answered_once()


def test_a_stopped_turn_is_answered_or_stopped(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        one.offered()
        return executor(one, "c-1"), stopper(one)

    for one, answered, stopped in every_order(prepare):
        assert one.current.turn is None
        if isinstance(answered, Session):
            assert stopped is False
            one.is_answered_once()
        else:
            assert stopped is True
            one.is_unanswered(row_done_by="stopped")


def test_a_commit_and_an_end_do_not_both_succeed(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held = one.claimed()
        return committer(one, held), lambda store: store.turns.end(held, now=NOW)

    for one, committed, ended in every_order(prepare):
        assert isinstance(committed, Session) is not ended
        one.is_unanswered() if ended else one.is_answered_once()
        assert one.current.turn is None


def test_a_commit_and_a_closed_row_do_not_both_count(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held = one.claimed()
        return committer(one, held), lambda store: store.inbox.close([one.row], by="stopped")

    for one, committed, _ in every_order(prepare):
        one.is_answered_once() if isinstance(committed, Session) else one.is_unanswered(row_done_by="stopped")


def test_a_lease_is_not_renewed_after_the_end(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held = one.claimed()

        def beat(store: Store) -> list[bool]:
            return [store.turns.renew(held, lease_until=NOW + beats * LEASE) for beats in (2, 3)]

        return beat, stopper(one)

    for one, beats, stopped in every_order(prepare):
        assert beats in ([True, True], [True, False], [False, False])
        assert stopped is True
        assert one.current.turn is None


def test_a_lease_that_is_over_is_renewed_or_claimed(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held = one.claimed(lease=0)
        return lambda store: store.turns.renew(held, lease_until=NOW + LEASE), claimer(one, "c-2")

    for one, renewed, claimed in every_order(prepare):
        assert renewed is not isinstance(claimed, Session)
        assert sure(one.current.turn).claim_id == ("c-0" if renewed else "c-2")


def test_of_two_offers_one_is_made(every_order: EveryOrder) -> None:
    for one, *outcomes in every_order(lambda one: (offerer(one, "t-a"), offerer(one, "t-b"))):
        (made,) = [outcome for outcome in outcomes if isinstance(outcome, Session)]
        assert made == one.current
        assert [offer.id for offer in one.world.store.turns.unsettled(one.session.id)] == [sure(made.turn).id]


def test_an_offer_does_not_survive_a_move(every_order: EveryOrder) -> None:
    for one, offered, moved in every_order(lambda one: (offerer(one, one.turn_id), mover(one))):
        assert isinstance(moved, Session)
        assert (one.current.owner, one.current.turn) == (one.session.cli, None)
        left = one.world.store.turns.unsettled(one.session.id)
        assert len(left) == isinstance(offered, Session), "an offer that was refused left an item"
        one.is_unanswered()


def test_a_turn_is_answered_before_a_move_or_not_at_all(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        one.offered()
        return executor(one, "c-1"), mover(one)

    for one, answered, moved in every_order(prepare):
        assert isinstance(moved, Session)
        assert (one.current.owner, one.current.turn) == (one.session.cli, None)
        one.is_answered_once() if isinstance(answered, Session) else one.is_unanswered()


def onwards(one: Case) -> Handoff:
    """A handoff of the session to another thread that is about to move it."""
    thread = Thread(Place("slack", "C1", one.session.id), "https://slack/1")
    return one.world.handoff(Stage.OPENED, one.current, thread=thread)


def test_an_offer_in_the_old_place_does_not_survive_a_rebind(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        opened = onwards(one)
        kickoff = replace(one.world.kickoff(opened), id="k-1")
        return offerer(one, one.turn_id), lambda store: store.moves.rebind(opened, kickoff, now=NOW)

    for one, offered, bound in every_order(prepare):
        assert bound.is_bound
        assert (one.current.owner.platform, sure(one.current.turn).id) == ("slack", "k-1")
        left = {offer.id for offer in one.world.store.turns.unsettled(one.session.id)}
        assert left == ({"k-1", one.turn_id} if isinstance(offered, Session) else {"k-1"})
        one.is_unanswered()


def test_an_executor_in_the_old_place_commits_before_a_rebind_or_never(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        opened = onwards(one)
        one.world.offer(one.current, one.turn_id, [one.row])
        kickoff = replace(one.world.kickoff(opened), id="k-1")
        return executor(one, "c-1"), lambda store: store.moves.rebind(opened, kickoff, now=NOW)

    for one, answered, bound in every_order(prepare):
        assert bound.is_bound
        assert (one.current.owner.platform, sure(one.current.turn).id) == ("slack", "k-1")
        if isinstance(answered, Session):
            assert (len(one.transcript), one.current.message_count, one.journal) == (2, 2, 1)
        else:
            one.is_unanswered()


def test_a_chat_to_chat_request_withdraws_a_turn_or_is_refused(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        one.offered()
        asked = one.world.new_handoff(one.session)
        return claimer(one, "c-1"), lambda store: store.handoffs.request(asked, now=NOW)

    for one, claimed, requested in every_order(prepare):
        if isinstance(requested, Handoff):
            assert isinstance(claimed, Conflict)
            assert (one.current.turn, one.current.active_handoff) == (None, requested.id)
        else:
            assert isinstance(requested, SessionBusy)
            assert (sure(one.current.turn).claim_id, one.current.active_handoff) == ("c-1", None)


def test_a_kickoff_is_confirmed_or_its_handoff_fails(every_order: EveryOrder) -> None:
    bound: dict[str, Handoff] = {}

    def prepare(one: Case) -> tuple[Actor, Actor]:
        handoff = bound[one.session.id] = sure(one.world.rebind(onwards(one), now=NOW))
        held = one.world.claim_turn(one.current)
        commit = one.world.turn_commit(held, handoff=handoff, receipt=RECEIPT)
        return (
            lambda store: store.turns.commit(commit, now=NOW),
            lambda store: store.handoffs.fail(handoff, BROKEN, now=NOW),
        )

    for one, confirmed, failed in every_order(prepare):
        handoff = one.world.latest(bound[one.session.id])
        assert one.current.turn is None
        assert isinstance(confirmed, Session) is (failed is None) is handoff.confirmed is handoff.is_open
        assert len(one.transcript) == (2 if handoff.confirmed else 0)
        assert one.current.owner == (sure(handoff.thread).place if handoff.confirmed else one.session.owner)


def test_a_turn_is_given_up_or_claimed(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        offered = one.offered()
        return committer(one, offered, abandoned=True), executor(one, "c-1")

    for one, given_up, answered in every_order(prepare):
        assert isinstance(given_up, Session) is not isinstance(answered, Session)
        one.is_answered_once()


def test_one_of_two_sweeps_nudges(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        one.offered()

        def nudge(store: Store) -> bool:
            offer = sure(store.turns.get(one.session.id, one.turn_id))
            return offer.nudges == 0 and store.turns.postpone(offer, until=NOW + LEASE, nudged_fence=0)

        return nudge, nudge

    for one, *outcomes in every_order(prepare):
        assert sorted(outcomes) == [False, True]
        assert sure(one.world.store.turns.get(one.session.id, one.turn_id)).nudges == 1
