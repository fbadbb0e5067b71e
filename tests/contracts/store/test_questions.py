"""Questions: asked once at a fence, decided once, kept until the runner and the thread know the end."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.domain.offers import Result
from shared.domain.questions import Option, Question, QuestionState
from shared.domain.sessions import Session
from shared.ports.platforms import Part
from shared.ports.tables import Table
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


def question(number: int = 1, fence: int = 1, turn_id: str = "t-1") -> Question:
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
    )


def message(asked: Question) -> list[OutPart]:
    return [OutPart("s-1", asked.journal, 0, THREAD.place, Part("Run the tests?"))]


def ask(world: World, session: Session, asked: Question | None = None) -> bool:
    asked = asked or question()
    return world.store.questions.ask(session, asked, message(asked), now=NOW)


@pytest.fixture
def session(world: World) -> Session:
    """Its machine works on a turn."""
    return world.machine_turn(world.on_machine())


@pytest.fixture
def asked(world: World, session: Session) -> Question:
    assert ask(world, session)
    return question()


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
    assert world.store.questions.answer(session, asked, "yes", now=NOW)
    assert ask(world, session, replace(asked, title="Another one?"))
    assert stored(world) == replace(asked, state=QuestionState.ANSWERED, option="yes")
    assert len(world.store.outbox.journal("s-1", asked.journal)) == 1


def test_a_question_that_is_done_with_is_not_asked_again(world: World, session: Session, asked: Question) -> None:
    assert world.store.questions.answer(session, asked, "yes", now=NOW)
    world.store.questions.acknowledge(asked)
    world.store.questions.shown_closed(asked)
    assert ask(world, session), "a late copy of the request does not stop the turn"
    assert stored(world) is None


def test_an_unknown_question_is_none(world: World, asked: Question) -> None:
    assert stored(world, number=2) is None
    assert stored(world, fence=2) is None
    assert world.store.questions.get("s-2", "t-1", 1, 1) is None
    assert asked


def test_questions_come_in_order_and_by_fence(world: World, session: Session) -> None:
    for number in (10, 2, 1):
        assert ask(world, session, question(number))
    again = world.machine_claim(session, claim_id="c-2", previous_fence=1)
    assert ask(world, again, question(1, fence=2))
    numbers = [(each.fence, each.number) for each in world.store.questions.of("s-1", "t-1")]
    assert numbers == [(1, 1), (1, 2), (1, 10), (2, 1)]
    assert [each.number for each in world.store.questions.of("s-1", "t-1", fence=2)] == [1]
    assert list(world.store.questions.of("s-1", "t")) == []


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
    assert world.store.questions.answer(session, asked, "yes", now=NOW)
    assert not world.store.questions.answer(session, asked, "no", now=NOW)
    assert stored(world) == replace(asked, state=QuestionState.ANSWERED, option="yes")


@pytest.mark.parametrize(("after", "answered"), [(-1, True), (0, False)])
def test_a_question_is_answered_or_expires(
    world: World, session: Session, asked: Question, after: int, answered: bool
) -> None:
    now = asked.expires_at + after
    assert world.store.questions.answer(session, asked, "yes", now=now) is answered
    assert world.store.questions.expire(asked, now=now) is not answered
    assert state(world) is (QuestionState.ANSWERED if answered else QuestionState.EXPIRED)


@pytest.mark.parametrize("end", ENDS)
def test_a_question_is_not_answered_after_its_turn_or_fence(
    world: World, session: Session, asked: Question, end: str
) -> None:
    ENDS[end](world, session)
    assert not world.store.questions.answer(session, asked, "yes", now=NOW)
    assert state(world) is QuestionState.OPEN


def test_a_question_is_answered_after_the_lease_while_no_other_has_claimed(
    world: World, session: Session, asked: Question
) -> None:
    assert world.store.questions.answer(session, asked, "no", now=NOW + LEASE)


def test_a_closed_question_is_not_answered_and_not_closed_again(
    world: World, session: Session, asked: Question
) -> None:
    assert [world.store.questions.close(asked) for _ in range(2)] == [True, False]
    assert not world.store.questions.answer(session, asked, "yes", now=NOW)
    assert not world.store.questions.expire(asked, now=asked.expires_at)
    assert state(world) is QuestionState.CLOSED


def test_an_answer_is_not_closed_and_does_not_expire(world: World, session: Session, asked: Question) -> None:
    assert world.store.questions.answer(session, asked, "yes", now=NOW)
    assert not world.store.questions.close(asked)
    assert not world.store.questions.expire(asked, now=asked.expires_at)
    assert stored(world) == replace(asked, state=QuestionState.ANSWERED, option="yes")


def test_an_unknown_question_is_not_decided(world: World, session: Session, backend: Backend) -> None:
    assert not world.store.questions.answer(session, question(), "yes", now=NOW)
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
    assert world.store.questions.answer(session, asked, "yes", now=NOW)
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
