"""Questions: asked once at a fence, decided once, kept until the runner and the thread know the end."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.offers import Result
from shared.domain.questions import CHOICE, Given, Option, Question, QuestionState
from shared.domain.sessions import Session
from shared.errors import Conflict
from shared.ports.platforms import Part
from shared.ports.tables import Table
from shared.store.inbox import InboxRow
from shared.store.outbox import OutPart
from tests.contracts.store.world import LEASE, NOW, THREAD, World, sure
from tests.support.table_backends import Backend

OPEN_FOR = 900_000
ALLOW, REJECT = Option("yes", "allow_once", "Allow"), Option("no", "reject_once", "Reject")
ENDS: dict[str, Callable[[World, Session], object]] = {
    "ended": lambda world, session: world.store.turns.end(session, now=NOW),
    "committed": lambda world, session: world.store.turns.commit(
        world.turn_commit(session, result=Result(1, "d")), now=NOW
    ),
    "claimed again": lambda world, session: world.machine_claim(session, claim_id="c-2", previous_fence=1),
    "moved away": lambda world, _: world.store.moves.to_terminal(world.current(), now=NOW),
}


def question(number: int = 1, fence: int = 1, turn_id: str = "t-1", shown_as: int = 1) -> Question:
    return Question(
        "s-1",
        turn_id,
        fence,
        number,
        title="Run the tests?",
        options=[ALLOW, REJECT],
        expires_at=NOW + OPEN_FOR,
        detail="make test",
        kind="execute",
        reason="why",
        shown_as=shown_as,
    )


def message(asked: Question) -> list[OutPart]:
    return [OutPart("s-1", asked.journal, 0, THREAD.place, Part("Run the tests?"))]


def ask(world: World, session: Session, asked: Question | None = None) -> Session | None:
    asked = asked or question()
    return world.store.questions.ask(session, asked, message(asked), now=NOW)


def answer(world: World, session: Session, asked: Question, option: str = "yes", now: int = NOW) -> bool:
    return world.store.questions.answer(session, asked, Given((option,)), said_at=now, now=now)


@pytest.fixture
def session(world: World) -> Session:
    """Its machine works on a turn."""
    return world.machine_turn(world.on_machine())


@pytest.fixture
def asked(world: World, session: Session) -> Question:
    assert ask(world, session)
    world.store.questions.shown(question(), now=NOW)
    return replace(question(), shown_at=NOW)


def stored(world: World, number: int = 1, fence: int = 1) -> Question | None:
    return world.store.questions.get("s-1", "t-1", fence, number)


def state(world: World) -> QuestionState:
    return sure(stored(world)).state


# --- ask


def test_a_question_is_asked_with_its_message(world: World, asked: Question) -> None:
    assert stored(world) == asked
    assert list(world.store.questions.of("s-1", "t-1")) == [asked]
    assert list(world.store.outbox.journal("s-1", asked.journal)) == message(asked)


def test_a_question_that_is_asked_again_stays_as_it_is(world: World, session: Session, asked: Question) -> None:
    assert answer(world, session, asked)
    assert ask(world, session, replace(asked, title="Another one?"))
    assert stored(world) == replace(asked, state=QuestionState.ANSWERED, option="yes")
    assert len(world.store.outbox.journal("s-1", asked.journal)) == 1


def test_a_question_that_is_done_with_is_not_asked_again(world: World, session: Session, asked: Question) -> None:
    assert answer(world, session, asked)
    world.store.questions.acknowledge(asked)
    world.store.questions.shown_closed(asked)
    assert ask(world, world.current()), "a late copy of the request does not stop the turn"
    assert stored(world) is None


def test_an_unknown_question_is_none(world: World, asked: Question) -> None:
    assert stored(world, number=2) is None
    assert stored(world, fence=2) is None
    assert world.store.questions.get("s-2", "t-1", 1, 1) is None
    assert asked


def test_questions_come_in_order_and_by_fence(world: World, session: Session) -> None:
    for shown_as, number in enumerate((10, 2, 1), start=1):
        session = sure(ask(world, session, question(number, shown_as=shown_as)))
    again = world.machine_claim(session, claim_id="c-2", previous_fence=1)
    assert ask(world, again, question(1, fence=2, shown_as=4))
    numbers = [(each.fence, each.number) for each in world.store.questions.of("s-1", "t-1")]
    assert numbers == [(1, 1), (1, 2), (1, 10), (2, 1)]
    assert [each.number for each in world.store.questions.of("s-1", "t-1", fence=2)] == [1]
    assert list(world.store.questions.of("s-1", "t")) == []


def test_no_number_is_given_twice(world: World, session: Session, asked: Question) -> None:
    with pytest.raises(Conflict):
        ask(world, session, question(2))
    assert stored(world, number=2) is None
    after = sure(ask(world, world.current(), question(2, shown_as=2)))
    assert (
        (after.questions, after.version) == (world.current().questions, world.current().version) == (2, after.version)
    )
    again = world.machine_claim(after, claim_id="c-2", previous_fence=1)
    assert again.questions == 2
    assert sure(ask(world, again, question(1, fence=2, shown_as=3))).questions == 3
    assert [each.shown_as for each in world.store.questions.of("s-1", "t-1")] == [1, 2, 3]
    assert asked.shown_as == 1


@pytest.mark.parametrize("end", ENDS)
def test_a_turn_that_is_over_or_at_another_fence_asks_nothing(world: World, session: Session, end: str) -> None:
    ENDS[end](world, session)
    assert not ask(world, session)
    assert stored(world) is None
    assert world.store.outbox.journal("s-1", question().journal) == []


def test_a_turn_that_is_only_offered_asks_nothing(world: World) -> None:
    assert not ask(world, world.machine_offer(world.on_machine()), question(fence=0))


# --- answer


def test_a_question_is_answered_once(world: World, session: Session, asked: Question) -> None:
    assert answer(world, session, asked)
    assert not answer(world, session, asked, "no")
    assert stored(world) == replace(asked, state=QuestionState.ANSWERED, option="yes")


def test_a_question_is_answered_only_after_it_was_shown(world: World, session: Session) -> None:
    assert ask(world, session)
    assert not answer(world, session, question())
    for now in (NOW, NOW + 9):  # the first time counts
        world.store.questions.shown(question(), now=now)
    yes = Given(("yes",))
    assert not world.store.questions.answer(session, question(), yes, said_at=NOW - 1, now=NOW + 9)
    assert state(world) is QuestionState.OPEN
    assert world.store.questions.answer(session, question(), yes, said_at=NOW, now=NOW + 9)


@pytest.mark.parametrize(("after", "answered"), [(-1, True), (0, False)])
def test_a_question_is_answered_or_expires(
    world: World, session: Session, asked: Question, after: int, answered: bool
) -> None:
    now = asked.expires_at + after
    assert answer(world, session, asked, now=now) is answered
    assert world.store.questions.expire(asked, now=now) is not answered
    assert state(world) is (QuestionState.ANSWERED if answered else QuestionState.EXPIRED)


@pytest.mark.parametrize("end", ENDS)
def test_a_question_is_not_answered_after_its_turn_or_fence(
    world: World, session: Session, asked: Question, end: str
) -> None:
    ENDS[end](world, session)
    assert not answer(world, session, asked)
    assert state(world) is QuestionState.OPEN


def test_a_question_is_answered_after_the_lease_while_no_other_has_claimed(
    world: World, session: Session, asked: Question
) -> None:
    assert answer(world, session, asked, "no", now=NOW + LEASE)


def test_a_closed_question_is_not_answered_and_not_closed_again(
    world: World, session: Session, asked: Question
) -> None:
    assert [world.store.questions.close(asked) for _ in range(2)] == [True, False]
    assert not answer(world, session, asked)
    assert not world.store.questions.expire(asked, now=asked.expires_at)
    assert state(world) is QuestionState.CLOSED


def test_an_answer_is_not_closed_and_does_not_expire(world: World, session: Session, asked: Question) -> None:
    assert answer(world, session, asked)
    assert not world.store.questions.close(asked)
    assert not world.store.questions.expire(asked, now=asked.expires_at)
    assert stored(world) == replace(asked, state=QuestionState.ANSWERED, option="yes")


def test_an_unknown_question_is_not_decided(world: World, session: Session, backend: Backend) -> None:
    assert not answer(world, session, question())
    assert not world.store.questions.expire(question(), now=NOW + OPEN_FOR)
    assert not world.store.questions.close(question())
    world.store.questions.acknowledge(question())
    world.store.questions.shown_closed(question())
    assert not [item for item in backend.scan(Table.SESSIONS) if item["sk"].startswith("Q#")]


# --- done with


@pytest.mark.parametrize("first", ["acknowledge", "shown_closed"])
def test_a_question_is_removed_once_the_runner_and_the_thread_know_its_end(
    world: World, session: Session, asked: Question, first: str
) -> None:
    second = "shown_closed" if first == "acknowledge" else "acknowledge"
    assert answer(world, session, asked)
    for _ in range(2):
        getattr(world.store.questions, first)(asked)
    known = sure(stored(world))
    assert (known.is_acknowledged, known.is_shown_closed) == (first == "acknowledge", first == "shown_closed")
    getattr(world.store.questions, second)(asked)
    assert stored(world) is None
    getattr(world.store.questions, first)(asked)
    assert stored(world) is None


def test_a_question_expires_from_the_table_by_itself(world: World, asked: Question, backend: Backend) -> None:
    (item,) = [item for item in backend.scan(Table.SESSIONS) if item["sk"].startswith("Q#")]
    assert item["expires_at"] == NOW // 1000 + 3 * 24 * 3600
    assert item["expires_ms"] == asked.expires_at


def test_a_deleted_session_leaves_no_questions(world: World, asked: Question, backend: Backend) -> None:
    world.store.sessions.delete(world.current())
    assert stored(world) is None
    assert [item["sk"] for item in backend.scan(Table.SESSIONS)] == ["RUNNER#laptop"]
    assert asked


# --- choices


def choice(number: int = 1, **changes: Any) -> Question:
    plain = replace(question(number, shown_as=number), kind=CHOICE, free=True, epoch=1)
    return replace(plain, **changes)


def chosen(world: World, session: Session, **changes: Any) -> Question:
    """A choice that was asked and shown."""
    asked = choice(**changes)
    assert ask(world, session, asked)
    world.store.questions.shown(asked, now=NOW)
    return replace(asked, shown_at=NOW)


def test_a_choice_is_stored_as_it_was_asked(world: World, session: Session) -> None:
    asked = chosen(world, session, several=True, blocks=False, options=[replace(ALLOW, description="once"), REJECT])
    assert stored(world) == asked
    assert list(world.store.questions.all("s-1")) == [asked]


def test_options_are_marked_as_they_were_read(world: World, session: Session) -> None:
    asked = chosen(world, session, several=True)
    assert world.store.questions.mark(session, asked, (1, 0), now=NOW)
    assert not world.store.questions.mark(session, asked, (0, 1), now=NOW), "another press was first"
    marked = sure(stored(world))
    assert (marked.marks, marked.marked, marked.revision) == ((1, 0), ("yes",), 1)
    assert world.store.questions.mark(session, marked, (1, 1), now=NOW)
    two = Given(("yes", "no"))
    assert not world.store.questions.answer(session, marked, two, said_at=NOW, now=NOW, revision=1)
    assert world.store.questions.answer(session, marked, two, said_at=NOW, now=NOW, revision=2)
    assert sure(stored(world)).chosen == ("yes", "no")
    assert not world.store.questions.mark(session, sure(stored(world)), (2, 1), now=NOW)


@pytest.mark.parametrize("end", ENDS)
def test_options_are_not_marked_after_the_turn_of_a_question_that_blocks(
    world: World, session: Session, end: str
) -> None:
    asked = chosen(world, session, several=True)
    ENDS[end](world, session)
    assert not world.store.questions.mark(session, asked, (1, 0), now=NOW)


def test_a_choice_is_answered_with_words_or_declined(world: World, session: Session) -> None:
    asked = chosen(world, session)
    assert world.store.questions.answer(session, asked, Given(words="mine"), said_at=NOW, now=NOW)
    assert sure(stored(world)).answer == "mine"
    assert not world.store.questions.decline(asked, now=NOW)
    other = choice(2)
    assert ask(world, world.current(), other)
    assert not world.store.questions.decline(other, now=other.expires_at)
    assert world.store.questions.decline(other, now=NOW)
    assert not answer(world, session, other)
    assert sure(stored(world, 2)).state is QuestionState.DECLINED


# --- words as the answer


def test_words_answer_a_question_and_belong_to_the_turn(world: World, session: Session) -> None:
    asked, row = chosen(world, session), world.row("0002")
    assert world.store.machine_turns.steer(session, row, answers=asked, now=NOW)
    assert world.store.machine_turns.steer(session, row, answers=asked, now=NOW), "a repeat finds them there"
    assert (state(world), sure(stored(world)).row) == (QuestionState.ANSWERED, "0002")
    assert world.offer_of().rows == ("0002",)
    assert sure(world.store.inbox.get(row.place, "0002")).done_by is None


@pytest.mark.parametrize(
    "what", ["answered", "too early", "expired", "takes none", "row done", "ended", "committed", "claimed again"]
)
def test_words_that_come_at_the_wrong_time_answer_nothing(world: World, session: Session, what: str) -> None:
    asked = chosen(world, session, free=what != "takes none")
    row = world.row("0002", written_at=NOW - 1 if what == "too early" else NOW)
    now = asked.expires_at if what == "expired" else NOW
    if what == "answered":
        assert answer(world, session, asked)
    elif what == "row done":
        world.store.inbox.close([row], by="command")
    elif what in ENDS:
        ENDS[what](world, session)
    before = stored(world)
    assert not world.store.machine_turns.steer(session, row, answers=asked, now=now)
    assert stored(world) == before
    assert "0002" not in world.offer_of().rows


def test_words_do_not_answer_a_question_in_a_full_turn(world: World, session: Session) -> None:
    asked = chosen(world, session)
    for number in range(100, 125):
        assert world.store.machine_turns.steer(session, world.row(f"{number:04}"))
    assert not world.store.machine_turns.steer(session, world.row("0002"), answers=asked, now=NOW)
    assert state(world) is QuestionState.OPEN


# --- questions that do not block


def late(**changes: Any) -> InboxRow:
    row = InboxRow(THREAD.place, "0009~q1", "", "To your question: yes", NOW, "ada")
    return replace(row, **changes)


def test_an_answer_that_the_session_was_read_without_stops_the_commit(world: World, session: Session) -> None:
    asked = chosen(world, session, blocks=False)
    commit = world.turn_commit(session, result=Result(1, "d"))
    assert answer(world, session, asked)
    with pytest.raises(Conflict):
        world.store.turns.commit(commit, now=NOW)
    counted = world.current()
    assert counted.answered == 1
    world.store.turns.commit(world.turn_commit(counted, result=Result(1, "d"), late=late()), now=NOW)
    assert sure(world.store.inbox.get(THREAD.place, "0009~q1")).done_by is None
    assert not answer(world, session, replace(asked, number=2))


def test_a_question_that_does_not_block_is_answered_once_after_its_turn(world: World, session: Session) -> None:
    asked = chosen(world, session, blocks=False)
    ENDS["committed"](world, session)
    given = Given(("yes",))
    assert not answer(world, session, asked), "its turn is over"
    assert world.store.questions.answer_late(asked, given, late(), said_at=NOW, now=NOW)
    again = late(event_id="0010~q1")
    assert not world.store.questions.answer_late(asked, given, again, said_at=NOW, now=NOW)
    assert (state(world), sure(stored(world)).row) == (QuestionState.ANSWERED, "0009~q1")
    assert world.store.inbox.get(THREAD.place, "0010~q1") is None


@pytest.mark.parametrize("what", ["moved", "blocks", "expired", "declined", "not shown", "row is there"])
def test_a_late_answer_is_refused(world: World, session: Session, what: str) -> None:
    asked = choice(blocks=what == "blocks")
    assert ask(world, session, asked)
    if what != "not shown":
        world.store.questions.shown(asked, now=NOW)
    ENDS["committed"](world, session)
    if what == "moved":
        world.store.moves.to_terminal(world.current(), now=NOW)
    elif what == "declined":
        assert world.store.questions.decline(asked, now=NOW)
    elif what == "row is there":
        assert world.store.inbox.put(late())
    now = asked.expires_at if what == "expired" else NOW
    assert not world.store.questions.answer_late(asked, Given(("yes",)), late(), said_at=now, now=now)
    assert state(world) is not QuestionState.ANSWERED


def test_the_newest_row_of_a_place_is_known(world: World) -> None:
    assert world.store.inbox.newest(THREAD.place) == ""
    for event in ("0002", "0001"):
        world.row(event)
    assert world.store.inbox.newest(THREAD.place) == "0002"


def test_rows_that_wait_for_the_end_are_noted_once(world: World, session: Session) -> None:
    assert session.turn is not None
    assert world.store.machine_turns.wait(world.offer_of(), ["0002"])
    assert not world.store.machine_turns.wait(world.offer_of(), ["0002"])
    assert world.store.machine_turns.wait(world.offer_of(), ["0003"])
    assert world.offer_of().waiting == ("0002", "0003")
