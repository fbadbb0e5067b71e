"""Files that an agent sends: in the outbox once, only while its turn is alive at its fence."""

from dataclasses import replace

import pytest

from shared.domain.files import StoredFile
from shared.domain.questions import Given, Question
from shared.domain.sessions import Session
from shared.errors import Conflict
from shared.ports.platforms import Part
from shared.store.outbox import OutPart
from shared.store.sends import journal_of
from tests.contracts.store.test_questions import ENDS, message, question
from tests.contracts.store.world import NOW, THREAD, World

FILE = StoredFile("a" * 64, "plot.png", "image/png", 1000)


def parts(number: int = 1, fence: int = 1, text: str = "the plot") -> list[OutPart]:
    journal = journal_of("t-1", fence, number)
    first = OutPart("s-1", journal, 0, THREAD.place, Part(text), file=FILE)
    return [first, replace(first, number=1, part=Part("the rest"), file=None)]


def enter(world: World, session: Session, allowed: Question | None = None, number: int = 1) -> None:
    world.store.sends.enter(session, parts(number), allowed=allowed, now=NOW)


def sent(world: World) -> list[tuple[str, int, str]]:
    return [
        (part.turn_id, part.number, part.file.name if part.file else "") for part in world.store.sends.of("s-1", "t-1")
    ]


@pytest.fixture
def session(world: World) -> Session:
    """Its machine works on a turn."""
    return world.machine_turn(world.on_machine())


def test_a_file_waits_in_the_outbox_with_the_rest_of_its_caption(world: World, session: Session) -> None:
    enter(world, session)
    enter(world, session, number=2)
    first, second = journal_of("t-1", 1, 1), journal_of("t-1", 1, 2)
    assert sent(world) == [(first, 0, "plot.png"), (first, 1, ""), (second, 0, "plot.png"), (second, 1, "")]
    (file, rest) = world.store.outbox.journal("s-1", first)
    assert (file.file, file.part.text, file.state, rest.part.text) == (FILE, "the plot", "waiting", "the rest")
    assert world.store.outbox.journal("s-1", "t-1") == [], "the reply is another journal"


def test_a_repeat_changes_nothing(world: World, session: Session) -> None:
    enter(world, session)
    world.store.sends.enter(session, parts(text="another"), allowed=None, now=NOW)
    assert world.store.sends.of("s-1", "t-1")[0].part.text == "the plot"


@pytest.mark.parametrize("end", ENDS)
def test_none_enters_after_the_turn(world: World, session: Session, end: str) -> None:
    ENDS[end](world, session)
    with pytest.raises(Conflict):
        enter(world, session)
    assert sent(world) == []


def _share(world: World) -> None:
    current = world.current()
    world.store.sessions.replace(current, replace(current, shared=True))


def test_in_a_thread_that_was_shared_meanwhile_none_enters_unasked(world: World, session: Session) -> None:
    _share(world)
    with pytest.raises(Conflict):
        enter(world, session)
    assert sent(world) == []


@pytest.mark.parametrize(("option", "enters"), [("yes", True), ("no", False)])
def test_in_a_shared_thread_the_answer_of_its_question_lets_it_in(
    world: World, session: Session, option: str, enters: bool
) -> None:
    session = world.store.questions.ask(session, question(), message(question()), now=NOW) or session
    world.store.questions.shown(question(), now=NOW)
    asked = replace(question(), shown_at=NOW)
    assert world.store.questions.answer(session, asked, Given((option,)), said_at=NOW, now=NOW)
    _share(world)
    allowed = replace(asked, option="yes")
    if enters:
        enter(world, world.current(), allowed)
    else:
        with pytest.raises(Conflict):
            enter(world, world.current(), allowed)
    assert bool(sent(world)) is enters


def test_one_that_no_sender_has_begun_can_be_withdrawn(world: World, session: Session) -> None:
    enter(world, session)
    file, rest = world.store.sends.of("s-1", "t-1")
    begun = world.store.outbox.sending(file, now=NOW, until=NOW + 1000)
    for part in (file, rest):
        world.store.outbox.withdrawn(part)
    assert [part.state for part in world.store.sends.of("s-1", "t-1")] == ["sending", "rejected"]
    assert begun is not None
    world.store.outbox.doubtful(begun)
    assert world.store.sends.of("s-1", "t-1")[0].state == "doubtful"
    world.store.outbox.sent(begun, "m-1")
    assert world.store.sends.of("s-1", "t-1")[0].state == "doubtful", "it is over"
