"""Two processes at one turn of a machine, interleaved at every call: one of them wins, and what is stored is whole."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from shared.domain.offers import Result
from shared.domain.questions import CHOICE, Given, Option, Question, QuestionState
from shared.domain.routes import Place
from shared.domain.runners import Runner
from shared.domain.sessions import Executor, Session
from shared.errors import Conflict
from shared.store.bundle import Store
from shared.store.inbox import InboxRow
from shared.store.turns import TurnCommit
from shared.use_cases.retry import on_conflict
from tests.contracts.store.schedules import Actor
from tests.contracts.store.schedules import every_order as in_every_order
from tests.contracts.store.world import LEASE, NOW, RUNS_ON, World, sure
from tests.support.table_backends import Backend

NUMBERS = itertools.count()
EveryOrder = Callable[[Callable[["Case"], tuple[Actor, Actor]]], Iterator[tuple["Case", Any, Any]]]


@dataclass
class Case:
    """A session of a machine's agent in a chat, with two messages from a person."""

    world: World
    session: Session
    row: InboxRow
    late: InboxRow

    @property
    def current(self) -> Session:
        return self.world.current(self.session.id)

    @property
    def turn_id(self) -> str:
        return f"t-{self.session.id}"

    @property
    def rows(self) -> tuple[str, ...]:
        return self.world.offer_of(self.turn_id, self.session.id).rows

    def done_by(self, row: InboxRow) -> str | None:
        return sure(self.world.store.inbox.get(row.place, row.event_id)).done_by

    def offered(self) -> Session:
        return self.world.machine_offer(self.session, self.turn_id, [self.row])

    def claimed(self, *, lease: int = LEASE) -> Session:
        return self.world.machine_claim(self.offered(), [self.row], claim_id="c-0", lease=lease)

    def is_answered(self) -> bool:
        """Whether the turn was committed, whole; asserts that it was not committed in part."""
        done = self.done_by(self.row) == f"{self.session.id}/{self.turn_id}"
        seen = len(list(self.world.store.transcripts.load(self.session.id)))
        result = self.world.offer_of(self.turn_id, self.session.id).result
        assert (seen, self.current.native_seen, result is not None) == ((2, 2, True) if done else (0, 0, False))
        return done


@pytest.fixture
def every_order(world: World, backend: Backend) -> EveryOrder:
    """Runs both actors of a fresh case in every order of their calls."""

    def made() -> Case:
        number = next(NUMBERS)
        place = Place("telegram", "1001", f"machine-{number}")
        session = world.on_machine(f"m-{number}", place)
        return Case(world, session, world.row("0001", place=place), world.row("0002", place=place))

    return partial(in_every_order, backend.tables, made)


# --- the processes; each reads for itself, as another function would


def claimer(case: Case, claim_id: str, *, previous_fence: int | None = None) -> Actor:
    def act(store: Store) -> Session:
        session = sure(store.sessions.get(case.session.id))
        if session.turn is None or session.turn.id != case.turn_id:
            raise Conflict("over")
        return store.machine_turns.claim(
            session,
            [case.row],
            Runner(RUNS_ON.runner, "ada", ""),
            claim_id=claim_id,
            now=NOW,
            lease_until=NOW + LEASE,
            previous_fence=previous_fence,
        )

    return act


def runner(case: Case, claim_id: str, *, previous_fence: int | None = None) -> Actor:
    """Claims, begins and commits."""

    def act(store: Store) -> Session:
        claimed = claimer(case, claim_id, previous_fence=previous_fence)(store)
        if not store.machine_turns.begin(claimed, lease_until=NOW + LEASE):
            raise Conflict("not begun")
        commit = case.world.turn_commit(claimed, rows=[case.row], result=Result(sure(claimed.turn).fence, "digest"))
        return store.turns.commit(commit, now=NOW)

    return act


def committer(case: Case, held: Session) -> Actor:
    result = Result(sure(held.turn).fence, "digest")
    return lambda store: store.turns.commit(case.world.turn_commit(held, rows=[case.row], result=result), now=NOW)


def stopper(case: Case) -> Actor:
    def act(store: Store) -> bool:
        store.inbox.close([case.row, case.late], by="stopped")
        session = sure(store.sessions.get(case.session.id))
        return session.turn is not None and store.turns.end(session, now=NOW)

    return act


def steerer(case: Case) -> Actor:
    def act(store: Store) -> bool:
        session = sure(store.sessions.get(case.session.id))
        return session.turn is not None and store.machine_turns.steer(session, case.late)

    return act


def chooser(case: Case) -> Actor:
    """What /cloud does."""

    def act(store: Store) -> Session:
        while True:
            try:
                session = sure(store.sessions.get(case.session.id))
                return store.machine_turns.choose(session, Executor.CLOUD, now=NOW)
            except Conflict:
                continue

    return act


def withdrawer(case: Case) -> Actor:
    def act(store: Store) -> bool:
        session = sure(store.sessions.get(case.session.id))
        return session.turn is not None and store.machine_turns.withdraw(session, now=NOW)

    return act


# --- the races


def test_of_two_processes_one_answers(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        one.offered()
        return runner(one, "c-1"), runner(one, "c-2")

    for one, *outcomes in every_order(prepare):
        assert sum(isinstance(outcome, Session) for outcome in outcomes) == 1
        assert one.is_answered()


def test_a_zombie_and_its_successor_answer_once(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held = one.claimed(lease=0)
        return committer(one, held), runner(one, "c-2")

    for one, zombie, successor in every_order(prepare):
        assert isinstance(zombie, Session) is not isinstance(successor, Session)
        assert one.is_answered()


def test_a_restarted_runner_and_its_last_process_answer_once(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held = one.claimed()
        return committer(one, held), runner(one, "c-2", previous_fence=1)

    for one, before, after in every_order(prepare):
        assert isinstance(before, Session) is not isinstance(after, Session)
        assert one.is_answered()


def test_a_stopped_turn_is_answered_or_stopped(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held = one.claimed()
        return committer(one, held), stopper(one)

    for one, answered, stopped in every_order(prepare):
        assert one.current.turn is None
        assert one.is_answered() is isinstance(answered, Session) is not stopped
        assert one.done_by(one.late) == "stopped"


def test_a_turn_is_claimed_or_stopped_and_closed_words_are_not_begun(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        one.offered()
        return claimer(one, "c-1"), lambda store: store.inbox.close([one.row], by="stopped")

    for one, claimed, _ in every_order(prepare):
        assert sure(one.current.turn).is_claimed is isinstance(claimed, Session)
        assert one.done_by(one.row) == "stopped"


def test_a_turn_is_claimed_or_given_to_the_deployment(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        one.offered()
        return claimer(one, "c-1"), chooser(one)

    for one, claimed, chosen in every_order(prepare):
        assert isinstance(chosen, Session)
        assert one.current.answers is Executor.CLOUD
        assert (one.current.turn is not None) is isinstance(claimed, Session)


def test_a_turn_is_withdrawn_or_claimed(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        one.claimed(lease=0)
        return claimer(one, "c-1"), withdrawer(one)

    for one, claimed, withdrawn in every_order(prepare):
        assert isinstance(claimed, Session) is not withdrawn
        assert (one.current.turn is None) is withdrawn


def test_a_lease_that_is_over_is_renewed_or_the_turn_withdrawn(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held = one.claimed(lease=0)
        return lambda store: store.turns.renew(held, lease_until=NOW + LEASE), withdrawer(one)

    for one, renewed, withdrawn in every_order(prepare):
        assert renewed is not withdrawn
        assert (one.current.turn is None) is withdrawn


def test_a_run_begins_once_with_two_requests(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        one.claimed()

        def begin(store: Store) -> bool:
            return store.machine_turns.begin(sure(store.sessions.get(one.session.id)), lease_until=NOW + LEASE)

        return begin, begin

    for one, *outcomes in every_order(prepare):
        assert True in outcomes
        assert (sure(one.current.turn).begun, one.current.native_dirty) == (1, True)


def test_words_are_answered_with_the_turn_or_stay_new(every_order: EveryOrder) -> None:
    """The result names what was given; words that came too late wait for the next turn."""

    def prepare(one: Case) -> tuple[Actor, Actor]:
        held = one.claimed()
        return committer(one, held), steerer(one)

    for one, answered, steered in every_order(prepare):
        assert isinstance(answered, Session)
        assert one.is_answered()
        assert one.rows == (("0001", "0002") if steered else ("0001",))
        assert one.done_by(one.late) is None


def test_words_that_come_with_the_claim_are_in_the_offer_once(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        one.offered()
        return claimer(one, "c-1"), steerer(one)

    for one, claimed, steered in every_order(prepare):
        assert isinstance(claimed, Session)
        assert one.rows == (("0001", "0002") if steered else ("0001",))
        assert sure(one.current.turn).words == 1, "what it was not given is steered later"


def test_two_words_at_once_are_not_lost(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held = one.claimed()
        third = one.world.row("0003", place=one.row.place)
        return steerer(one), lambda store: store.machine_turns.steer(held, third)

    for one, *outcomes in every_order(prepare):
        given = [event for event, steered in zip(("0002", "0003"), outcomes, strict=True) if steered]
        assert given
        assert sorted(one.rows) == ["0001", *given]


def test_words_are_stopped_or_given_and_stopped_with_the_turn(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        one.claimed()
        return steerer(one), stopper(one)

    for one, _, stopped in every_order(prepare):
        assert stopped is True
        assert (one.current.turn, one.done_by(one.late)) == (None, "stopped")


def test_a_settled_turn_takes_no_words(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held = one.claimed()

        def settle(store: Store) -> None:
            assert store.turns.end(held, now=NOW)
            store.turns.settled(sure(store.turns.get(one.session.id, one.turn_id)))

        return steerer(one), settle

    for one, *_ in every_order(prepare):
        assert one.rows == ()
        assert one.world.offer_of(one.turn_id, one.session.id).is_settled


# --- questions


def asked(one: Case) -> Question:
    options = [Option("yes", "allow_once", "Allow"), Option("no", "reject_once", "Reject")]
    return Question(one.session.id, one.turn_id, 1, 1, title="?", options=options, expires_at=NOW + 1, shown_as=1)


def asking(one: Case) -> tuple[Session, Question]:
    held, question = one.claimed(), asked(one)
    assert one.world.store.questions.ask(held, question, [], now=NOW)
    one.world.store.questions.shown(question, now=NOW)
    return held, question


def answered_with(held: Session, question: Question, option: str = "yes") -> Actor:
    return lambda store: store.questions.answer(held, question, Given((option,)), said_at=NOW, now=NOW)


def state(one: Case) -> QuestionState:
    return sure(one.world.store.questions.get(one.session.id, one.turn_id, 1, 1)).state


def test_of_two_answers_one_counts(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held, question = asking(one)
        return (
            answered_with(held, question),
            answered_with(held, question, "no"),
        )

    for one, yes, no in every_order(prepare):
        assert yes is not no
        found = sure(one.world.store.questions.get(one.session.id, one.turn_id, 1, 1))
        assert (found.state, found.option) == (QuestionState.ANSWERED, "yes" if yes else "no")


@pytest.mark.parametrize("over", [QuestionState.EXPIRED, QuestionState.CLOSED])
def test_a_question_is_answered_or_expires_or_is_closed(every_order: EveryOrder, over: QuestionState) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held, question = asking(one)

        def end(store: Store) -> bool:
            closes = over is QuestionState.CLOSED
            return store.questions.close(question) if closes else store.questions.expire(question, now=NOW + 1)

        return answered_with(held, question), end

    for one, answered, ended in every_order(prepare):
        assert answered is not ended
        assert state(one) is (over if ended else QuestionState.ANSWERED)


def test_of_words_and_a_press_one_answers(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held = one.claimed()
        question = replace(asked(one), kind=CHOICE, free=True)
        assert one.world.store.questions.ask(held, question, [], now=NOW)
        one.world.store.questions.shown(question, now=NOW)
        return (
            lambda store: store.machine_turns.steer(held, one.late, answers=question, now=NOW),
            answered_with(held, question),
        )

    for one, words, press in every_order(prepare):
        assert words is not press
        found = sure(one.world.store.questions.get(one.session.id, one.turn_id, 1, 1))
        assert (found.row, found.option) == (("0002", None) if words else (None, "yes"))
        assert ("0002" in one.rows) is words


def test_an_answer_that_does_not_block_and_a_commit_exclude_each_other(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held = one.claimed()
        question = replace(asked(one), kind=CHOICE, blocks=False, epoch=held.epoch)
        assert one.world.store.questions.ask(held, question, [], now=NOW)
        one.world.store.questions.shown(question, now=NOW)
        commit = one.world.turn_commit(held, result=Result(1, "d"))
        return answered_with(held, question), lambda store: committed(store, commit)

    for one, answered, is_committed in every_order(prepare):
        assert answered is not is_committed
        assert (one.current.answered == 1) is answered


def committed(store: Store, commit: TurnCommit) -> bool:
    try:
        store.turns.commit(commit, now=NOW)
    except Conflict:
        return False
    return True


def test_no_question_is_answered_after_its_turn(every_order: EveryOrder) -> None:
    """An answer that counts was given while the turn was alive at this fence."""

    def prepare(one: Case) -> tuple[Actor, Actor]:
        held, question = asking(one)

        def end(store: Store) -> tuple[bool, QuestionState]:
            ended = store.turns.end(held, now=NOW)
            return ended, state(one)

        return answered_with(held, question), end

    for one, answered, ended in every_order(prepare):
        assert ended[0] is True
        assert state(one) is ended[1] is (QuestionState.ANSWERED if answered else QuestionState.OPEN)


def test_a_question_is_asked_before_its_turn_ends_or_never(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held, question = one.claimed(), asked(one)

        def end(store: Store) -> list[Question]:
            assert store.turns.end(held, now=NOW)
            found = list(store.questions.of(one.session.id, one.turn_id))
            for each in found:
                store.questions.close(each)
            return found

        return lambda store: store.questions.ask(held, question, [], now=NOW), end

    for one, session, found in every_order(prepare):
        was_asked = session is not None
        assert bool(found) is was_asked
        left = one.world.store.questions.of(one.session.id, one.turn_id)
        assert [each.state for each in left] == [QuestionState.CLOSED] * was_asked


def test_two_questions_at_once_get_two_numbers(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        first = asked(one)
        one.claimed()

        def ask(question: Question) -> Actor:
            def attempt(store: Store) -> Session | None:
                session = sure(store.sessions.get(one.session.id))
                named = replace(question, shown_as=session.questions + 1)
                return store.questions.ask(session, named, [], now=NOW)

            return lambda store: on_conflict(lambda: attempt(store))

        return ask(first), ask(replace(first, number=2))

    for one, *_ in every_order(prepare):
        found = one.world.store.questions.of(one.session.id, one.turn_id)
        assert sorted(question.shown_as for question in found) == [1, 2]


def test_a_question_that_both_ends_know_is_removed_or_found_again(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        held, question = asking(one)
        assert answered_with(held, question)(one.world.store)
        return (
            lambda store: store.questions.acknowledge(question),
            lambda store: store.questions.shown_closed(question),
        )

    for one, *_ in every_order(prepare):
        left = one.world.store.questions.get(one.session.id, one.turn_id, 1, 1)
        assert left is None or (left.is_acknowledged and left.is_shown_closed)


# --- revoking


def test_a_revoked_runner_has_answered_before_or_never_does(every_order: EveryOrder) -> None:
    def prepare(one: Case) -> tuple[Actor, Actor]:
        laptop = sure(one.session.runs_on)
        other = replace(laptop, runner=f"laptop-{one.session.id}")
        one.world.runner(other.runner)
        one.session = one.world.store.sessions.replace(one.session, replace(one.session, runs_on=other))
        one.offered()

        def revoke(store: Store) -> bool:
            assert store.runners.revoke(sure(store.runners.get("ada", other.runner)))
            session = sure(store.sessions.get(one.session.id))
            return session.turn is not None and store.turns.end(session, now=NOW)

        return runner(one, "c-1"), revoke

    for one, answered, ended in every_order(prepare):
        assert one.current.turn is None
        assert one.is_answered() is isinstance(answered, Session) is not ended
