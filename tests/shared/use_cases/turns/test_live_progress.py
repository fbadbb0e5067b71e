"""What the deployment's agent says while it works: one message that is edited, and one line of it in the end."""

import logging
from dataclasses import replace

import pytest

from shared.domain.offers import Offer
from shared.domain.progress import MAX_SAID
from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.errors import AgentCancelled, AgentFailed, AgentUnavailable, NotSent
from shared.ports.queue import Run, Show
from shared.use_cases.recovery.give_up import end_turn
from shared.use_cases.turns import heartbeat
from shared.use_cases.turns.accept_turn import accept_turn
from shared.use_cases.turns.claim_turn import claim_turn
from shared.use_cases.turns.live_progress import LiveProgress
from shared.use_cases.turns.show_turn import show_turn
from tests.support.use_case_world import USER, World
from tests.support.waiting import eventually


@pytest.fixture
def place(world: World) -> Place:
    """The thread of a session with a turn for `And?` that waits for an executor."""
    _, place = world.moved()
    world.runs.waiting.clear()
    world.say(place, "And?", "0001")
    world.turn()
    return place


@pytest.fixture
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "SHOW_EVERY", 10)


def shows(world: World) -> list[Show]:
    return [waiting.message for waiting in world.queue.waiting if isinstance(waiting.message, Show)]


def offer(world: World) -> Offer:
    (found,) = world.store.turns.unsettled("s-1")
    return found


def speak(world: World, words: str, *, after: float = 3) -> None:
    """The agent says more, and that is shown."""
    assert world.agent.progress is not None
    world.wait(after)
    world.agent.progress(words)
    eventually(lambda: shows(world))
    world.turn()
    assert not shows(world)


def posted(world: World, place: Place) -> list[str]:
    return world.platform.said(place)[1:]


@pytest.mark.usefixtures("_often")
def test_words_are_shown_edited_and_shrunk_and_the_reply_is_a_new_message(world: World, place: Place) -> None:
    seen: list[list[str]] = []

    def answer() -> str:
        for words in ("One.", "One. Two."):
            speak(world, words)
            seen.append(posted(world, place))
        world.wait(6)
        return "One. Two. Three."

    world.agent.next.append(answer)
    world.turns()

    assert seen == [["One.\n\n3 s"], ["One. Two.\n\n6 s"]]
    assert posted(world, place) == ["Answered in 12 s.", "One. Two. Three."]
    assert world.store.turns.unsettled("s-1") == []


def test_a_quick_answer_stores_and_shows_nothing(world: World, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[object] = []
    monkeypatch.setattr(world.store.turns, "report", lambda *given: stored.append(given))

    def answer() -> str:
        assert world.agent.progress is not None
        world.agent.progress("One.")
        return "One. Two."

    world.agent.next.append(answer)
    world.agents()
    assert (stored, shows(world)) == ([], [])
    world.turns()
    assert posted(world, place) == ["One. Two."]


@pytest.mark.usefixtures("_often")
def test_a_slow_kickoff_is_shown_too(world: World) -> None:
    world.session()

    def confirm() -> str:
        speak(world, "I see.")
        return "Confirmed"

    world.agent.next.append(confirm)
    world.process(world.ask())
    world.turns()
    assert world.platform.said(world.current().owner) == ["Answered in 3 s.", "Confirmed"]


@pytest.mark.usefixtures("_often")
def test_a_turn_that_is_stopped_says_so_and_ends_the_request(world: World, place: Place) -> None:
    def answer() -> str:
        speak(world, "One.")
        end_turn(world.services, world.current(), offer(world))
        assert world.agent.progress is not None
        world.agent.progress("One. Two.")
        assert world.agent.cancellations[-1].wait(20), "the next words find that the turn is over"
        raise AgentCancelled

    world.agent.next.append(answer)
    world.turns()
    assert posted(world, place) == [
        "Stopped after 3 s.",
        "reply to 5",
    ]  # the words are still new, so they are asked again


@pytest.mark.usefixtures("_often")
def test_a_failure_that_is_told_is_an_answer(world: World, place: Place) -> None:
    def fail() -> str:
        speak(world, "One.")
        raise AgentFailed("The provider said no.")

    world.agent.next.append(fail)
    world.turns()
    assert posted(world, place)[0] == "Answered in 3 s."
    assert "The provider said no" in posted(world, place)[1]


@pytest.mark.usefixtures("_often")
def test_another_try_goes_on_in_the_same_message(world: World, place: Place) -> None:
    def unavailable() -> str:
        speak(world, "First try.")
        raise AgentUnavailable("Overloaded.", after=1)

    def answer() -> str:
        speak(world, "Second try.", after=4)
        return "Done."

    world.agent.next.extend([unavailable, answer])
    world.turns()
    assert posted(world, place) == ["Answered in 4 s.", "Done."]


def test_an_old_executor_overwrites_no_newer_progress(world: World, place: Place) -> None:
    runs = [LiveProgress(world.services, *_claimed(world)), LiveProgress(world.services, *_claimed(world))]
    for number, live in enumerate(runs):
        live.update(f"from {number}")
    assert [live.show() for live in reversed(runs)] == [True, False]
    progress = offer(world).progress
    assert progress is not None
    assert (progress.said, progress.seq) == ("from 1", 1)
    runs[0]._seq = 7
    runs[0].finish()  # without a look at the session: the write itself refuses
    assert offer(world).progress == progress
    assert len(shows(world)) == 1
    assert posted(world, place) == []


@pytest.mark.usefixtures("place")
def test_nothing_new_costs_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    live = LiveProgress(world.services, *_claimed(world))
    live.update("One.")
    assert live.show()
    monkeypatch.setattr(world.store.turns, "report", _fail)
    monkeypatch.setattr(world.store.sessions, "get", _fail)
    assert live.show()


@pytest.mark.usefixtures("place")
def test_only_the_end_of_a_long_text_is_stored(world: World) -> None:
    live = LiveProgress(world.services, *_claimed(world))
    live.update("x" * 100_000)
    assert live.show()
    stored = offer(world).progress
    assert stored is not None
    assert len(stored.said) == MAX_SAID + 1
    assert stored.markdown.startswith("… x")


@pytest.mark.usefixtures("_often")
def test_a_store_that_fails_costs_the_progress_only(
    world: World, place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried: list[int] = []

    def broken(*_: object) -> bool:
        tried.append(1)
        raise OSError("PRIVATE words")

    monkeypatch.setattr(world.store.turns, "report", broken)
    caplog.set_level(logging.DEBUG)

    def answer() -> str:
        assert world.agent.progress is not None
        world.agent.progress("PRIVATE words")
        eventually(lambda: len(tried) >= 2)
        return "Done."

    world.agent.next.append(answer)
    world.turns()
    assert posted(world, place) == ["Done."]
    assert "PRIVATE" not in caplog.text
    assert "OSError" in caplog.text


@pytest.mark.usefixtures("_often")
def test_a_platform_that_is_down_costs_the_progress_only(world: World, place: Place) -> None:
    def answer() -> str:
        world.platform.next["send"].append(NotSent("down"))
        speak(world, "One.")
        return "Done."

    world.agent.next.append(answer)
    world.turns()
    assert posted(world, place) == ["Done."]


def test_a_terminal_gets_no_progress(world: World) -> None:
    world.session()
    accept_turn(world.services, USER, "s-1", epoch=0, turn_id="0001", text="And here?")
    world.agents()
    assert (world.agent.given[-1][-1]["content"], world.agent.progress) == ("And here?", None)


def test_a_platform_without_edits_gets_no_progress(world: World, place: Place) -> None:
    world.platform.capabilities = replace(world.platform.capabilities, edits=False)
    world.turns()
    assert world.agent.progress is None
    assert posted(world, place) == ["reply to 5"]


def test_a_message_that_is_shown_late_is_shrunk_by_the_one_who_shows_it(world: World, place: Place) -> None:
    """The reply is delivered and the turn settled between the send of the progress message and its journal entry."""
    live = LiveProgress(world.services, *_claimed(world))
    live.update("One.")
    live.show()
    (show,) = shows(world)
    world.queue.waiting.clear()
    turn = world.current()

    def settle_first() -> None:
        world.store.turns.end(turn, now=world.clock.now())
        world.store.turns.settled(offer(world))

    world.platform.next["send"].append(settle_first)
    show_turn(world.services, show, until=world.clock.now() + 10_000)
    assert posted(world, place) == ["Stopped after 0 s."]
    show_turn(world.services, show, until=world.clock.now() + 10_000)  # a repeat finds nothing
    assert posted(world, place) == ["Stopped after 0 s."]


def _claimed(world: World) -> tuple[Session, Offer]:
    """Claim the turn; one that is claimed has lost its lease."""
    turn = world.current().turn
    assert turn is not None
    world.clock.time = max(world.clock.time, turn.lease_until)
    claimed = claim_turn(world.services, Run("s-1", turn.id))
    assert claimed is not None
    return claimed.session, claimed.offer


def _fail(*_: object, **__: object) -> None:
    raise AssertionError("nothing is to be read or written")
