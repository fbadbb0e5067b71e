"""Voice messages: words once, in order with what was said around them; never a command, an approval or a choice."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from shared.domain.limits import Limits
from shared.domain.orders import TRANSCRIBE, Order
from shared.domain.questions import CHOICE, Option
from shared.domain.routes import Place
from shared.domain.runners import AWAY_AFTER
from shared.errors import NotSent, NotTranscribed, OrderEnded, OrderTaken, UnknownOrder
from shared.ports.queue import Fetch, Run
from shared.ports.transcriber import LONGEST_WORDS, Recording
from shared.store.bundle import store_on
from shared.use_cases.files.wait_for_files import VOICE_LONGEST
from shared.use_cases.runners.report_turn import Asked
from shared.use_cases.runners.take_order import OrderAnswer
from shared.use_cases.sessions.resume_session import resume_session
from tests.shared.use_cases.files.test_files_from_chats import asked, post
from tests.support.machine import Machine
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import World

OGG = b"OggS and a voice"


@dataclass
class FakeTranscriber:
    """Says what a test wants, and notes what it got."""

    says: Callable[[], str] = lambda: "Run the tests, please."
    heard: list[tuple[bytes, str, float]] = field(default_factory=list)

    def words(self, recording: Recording, *, seconds: float) -> str:
        assert isinstance(recording.path, Path)
        self.heard.append((recording.path.read_bytes(), recording.name, seconds))
        return self.says()


@pytest.fixture
def world() -> World:
    return with_voice(World(store_on(MemoryTables())))


def with_voice(world: World) -> World:
    world.services = replace(world.services, transcriber=FakeTranscriber())
    world.platform.files["v1"] = OGG
    return world


@pytest.fixture
def thread(world: World) -> Place:
    return world.moved()[1]


def transcriber(world: World) -> FakeTranscriber:
    assert isinstance(world.services.transcriber, FakeTranscriber)
    return world.services.transcriber


def speak(world: World, thread: Place, event_id: str = "0001", text: str = "") -> None:
    post(world, thread, event_id, text, "file:voice:v1")


def contents(world: World) -> list[object]:
    return [message["content"] for message in asked(world)]


def test_words_reach_the_agent_and_are_shown_in_the_thread(world: World, thread: Place) -> None:
    speak(world, thread)
    world.turns()
    assert contents(world) == ["[spoken, as it was understood:]\nRun the tests, please."]
    assert "Heard: Run the tests, please." in world.platform.said(thread)
    [(heard, name, seconds)] = transcriber(world).heard
    assert (heard, name.endswith(".ogg")) == (OGG, True)
    assert 0 < seconds <= VOICE_LONGEST / 1000
    assert world.files.stored == {}, "the agent gets words only"


def test_they_keep_their_place_among_what_was_written(world: World, thread: Place) -> None:
    post(world, thread, "0001", "before")
    speak(world, thread, "0002")
    post(world, thread, "0003", "after")
    world.turns()
    assert [str(content).rpartition("\n")[2] for content in contents(world)] == [
        "before",
        "Run the tests, please.",
        "after",
    ]
    assert len(transcriber(world).heard) == 1


@pytest.mark.parametrize("reason", ["the transcriber does not answer", "the transcriber's answer cannot be read"])
def test_a_transcriber_that_fails_leaves_a_note(world: World, thread: Place, reason: str) -> None:
    def fail() -> str:
        raise NotTranscribed(reason)

    transcriber(world).says = fail
    speak(world, thread, text="see this")
    post(world, thread, "0002", "after")
    world.turns()
    note = f"[voice message was attached, which did not reach you: {reason}]"
    assert contents(world) == [f"see this\n{note}", "after"]
    assert f"voice message did not reach the agent: {reason}." in world.platform.said(thread)
    assert len(transcriber(world).heard) == 1


def test_words_behind_it_wait_twenty_seconds_at_most(world: World, thread: Place) -> None:
    """The process that transcribes has died, or hangs."""
    speak(world, thread)
    post(world, thread, "0002", "after")
    began = world.clock.now()
    world.messages()
    assert contents(world) == []
    while not contents(world) and world.clock.now() - began < 200_000:
        world.wait(1)
        world.messages()
        world.runs.waiting[:] = [one for one in world.runs.waiting if isinstance(one[0], Run)]
        world.agents()
    assert 20_000 <= world.clock.now() - began <= 23_000
    assert contents(world) == [
        "[voice message was attached, which did not reach you: it could not be read in time]",
        "after",
    ]


def test_words_that_come_too_late_are_dropped(world: World, thread: Place) -> None:
    def slow() -> str:
        world.wait(VOICE_LONGEST / 1000 + 1)
        world.messages()
        return "too late"

    transcriber(world).says = slow
    speak(world, thread)
    world.turns()
    assert "in time" in str(contents(world)[0])
    assert not any("too late" in text for text in world.platform.said(thread))


def test_a_voice_that_cannot_be_fetched_in_time_is_not_transcribed(world: World, thread: Place) -> None:
    world.platform.next["fetch_file"].extend([NotSent("down")] * 3)
    speak(world, thread)
    world.turns()
    assert "did not send it" in str(contents(world)[0])
    assert transcriber(world).heard == []


@pytest.mark.parametrize("spoken", ["/approve one", "/stop", "/handoff slack", "!resume"])
def test_a_spoken_command_is_words(world: World, thread: Place, spoken: str) -> None:
    transcriber(world).says = lambda: spoken
    speak(world, thread)
    world.turns()
    assert contents(world) == [f"[spoken, as it was understood:]\n{spoken}"]
    assert world.current().owner == thread


def test_a_command_waits_for_no_voice(world: World, thread: Place) -> None:
    speak(world, thread)
    post(world, thread, "0002", "/status")
    world.messages()
    assert "lives here" in world.platform.said(thread)[-1]
    assert contents(world) == []


def test_spoken_words_answer_no_question(world: World) -> None:
    machine = Machine(world)
    place = machine.moved()
    post(world, place, "0001", "And?")
    world.messages()
    machine.start()
    options = [Option("a", "allow_once", "Yes"), Option("b", "reject_once", "No")]
    machine.report(asked=[Asked(1, "Which?", options, kind=CHOICE, free=True)])
    world.messages()
    transcriber(world).says = lambda: "Yes"
    speak(world, place, "0002")
    world.messages()
    world.agents()
    world.messages()
    answer = machine.report()
    assert [word.text for word in answer.steered] == ["[spoken, as it was understood:]\nYes"]
    assert answer.decided == []


@pytest.mark.parametrize("spoken", ["/approve 1", "/approve one", "Slash approve one.", "approve", "yes"])
def test_spoken_words_approve_nothing(world: World, spoken: str) -> None:
    machine = Machine(world)
    place = machine.moved()
    post(world, place, "0001", "And?")
    world.messages()
    machine.start()
    machine.ask()
    world.messages()
    transcriber(world).says = lambda: spoken
    speak(world, place, "0002")
    world.messages()
    world.agents()
    world.messages()
    answer = machine.report()
    assert [word.text for word in answer.steered] == [f"[spoken, as it was understood:]\n{spoken}"]
    assert answer.decided == []


def test_markdown_in_what_was_heard_means_nothing(world: World, thread: Place) -> None:
    transcriber(world).says = lambda: "*bold* [link](https://evil.test)"
    speak(world, thread)
    world.turns()
    [told] = [text for text in world.platform.said(thread) if text.startswith("Heard")]
    assert "bold" in told


def test_each_counts_as_a_turn_of_its_sender() -> None:
    world = with_voice(World(store_on(MemoryTables(), Limits(turns_per_hour=3))))
    thread = world.moved()[1]
    speak(world, thread)
    world.turns()
    speak(world, thread, "0002")
    world.turns()
    assert len(transcriber(world).heard) == 1
    assert any("your turns of this hour are used up" in text for text in world.platform.said(thread))


def test_without_a_transcriber_one_line_says_so(world: World, thread: Place) -> None:
    world.services = replace(world.services, transcriber=None)
    before = len(world.agent.given)
    speak(world, thread)
    world.turns()
    assert world.platform.said(thread)[-1] == "I cannot read voice messages yet. Write it as text."
    assert len(world.agent.given) == before


# --- by the command of the user's own machine


@pytest.fixture
def machine(world: World) -> Machine:
    """One that transcribes, in front of a service that does not."""
    world.services = replace(world.services, transcriber=None)
    return Machine(world, orders=(TRANSCRIBE,))


@pytest.fixture
def place(machine: Machine) -> Place:
    return machine.moved()


def listen(machine: Machine) -> Order:
    """Take the order for the words of the one voice message that waits."""
    machine.world.messages()
    machine.world.agents()
    (order,) = machine.waiting()
    return machine.take(order)


def heard(machine: Machine, said: str, *, refused: bool = False) -> list[str]:
    """The words of the turn that follows once the machine has answered."""
    world = machine.world
    machine.answer_order(listen(machine), OrderAnswer("d-1", refused, said))
    world.agents()
    world.messages()
    return [word.text for word in machine.start().words]


def test_the_machine_that_answers_transcribes(machine: Machine, place: Place) -> None:
    world = machine.world
    speak(world, place)
    post(world, place, "0002", "after")
    order = listen(machine)
    assert machine.poll() == []
    digest, ending = order.argument[:64], order.argument[64:]
    assert (order.kind, ending) == (TRANSCRIBE, ".ogg")
    assert world.files.stored == {f"{order.user_id}/{order.session_id}/{digest}": OGG}
    machine.answer_order(order, OrderAnswer("d-1", text="Run the\n tests."))
    machine.answer_order(order, OrderAnswer("d-1", text="Run the\n tests."))  # the first answer was lost
    world.agents()
    world.messages()
    words = [word.text for word in machine.start().words]
    assert words == ["[spoken, as it was understood:]\nRun the tests.", "after"]
    assert [text for text in world.platform.said(place) if "Run the" in text] == ["Heard: Run the tests."]
    world.wait(240)
    world.sweep()
    assert world.files.stored == {}, "the recording is not kept"


@pytest.mark.parametrize(
    ("said", "refused", "note"),
    [
        ("the *transcriber* failed", True, r"the \*transcriber\* failed"),
        ("", True, "the machine that transcribes did not do it"),
        (" ", False, "no words were heard in it"),
        ("w" * (LONGEST_WORDS + 1), False, "the transcriber's answer cannot be read"),
    ],
)
def test_a_machine_that_has_no_words_leaves_a_note(
    machine: Machine, place: Place, said: str, refused: bool, note: str
) -> None:
    speak(machine.world, place)
    post(machine.world, place, "0002", "after")
    told = f"[voice message was attached, which did not reach you: {note}]"
    assert heard(machine, said, refused=refused) == [told, "after"]


def test_a_command_that_a_machine_heard_is_words(machine: Machine, place: Place) -> None:
    speak(machine.world, place)
    assert heard(machine, "/approve one") == ["[spoken, as it was understood:]\n/approve one"]
    assert machine.world.current().owner == place


def test_words_wait_twenty_seconds_for_a_machine_that_hangs(machine: Machine, place: Place) -> None:
    world = machine.world
    speak(world, place)
    post(world, place, "0002", "after")
    began, order = world.clock.now(), listen(machine)
    while not machine.poll() and world.clock.now() - began < 200_000:
        world.wait(1)
        world.messages()
    assert 20_000 <= world.clock.now() - began <= 23_000
    with pytest.raises(OrderTaken):  # its runner was killed and has come back: nothing is transcribed twice
        machine.take(order, "c-2")
    machine.answer_order(order, OrderAnswer("d-1", text="too late"))
    world.agents()
    world.messages()
    words = [word.text for word in machine.start().words]
    assert words == ["[voice message was attached, which did not reach you: it could not be read in time]", "after"]
    assert not any("too late" in text for text in world.platform.said(place))


def test_a_machine_that_wakes_up_later_is_not_asked_for_words(machine: Machine, place: Place) -> None:
    world = machine.world
    speak(world, place)
    world.messages()
    world.agents()
    (order,) = machine.waiting()
    world.wait(VOICE_LONGEST / 1000)
    assert machine.waiting() == []
    with pytest.raises(OrderEnded):
        machine.take(order)


def test_all_voice_messages_of_one_message_are_heard(machine: Machine, place: Place) -> None:
    """On Slack one message carries several."""
    world, spoken = machine.world, ["one", "two", "three", "four"]
    for number, words in enumerate(spoken):
        world.platform.files[f"v{number}"] = words.encode()
    post(world, place, "0001", "", *(f"file:voice:v{number}" for number in range(len(spoken))))
    world.messages()
    world.agents()
    by_recording = {hashlib.sha256(words.encode()).hexdigest(): words for words in spoken}
    for order in machine.waiting():
        answer = OrderAnswer("d-1", text=by_recording[order.argument[:64]])
        machine.answer_order(machine.take(order), answer)
        world.agents()
        world.messages()
    assert [word.text.split()[-4:] for word in machine.start().words] == [spoken]


def test_stop_ends_what_a_machine_transcribes(machine: Machine, place: Place) -> None:
    world = machine.world
    speak(world, place)
    order = listen(machine)
    post(world, place, "0002", "/stop")
    post(world, place, "0003", "Go on.")
    machine.answer_order(order, OrderAnswer("d-1", text="Delete it."))
    world.agents()
    world.messages()
    assert [word.text for word in machine.start().words] == ["Go on."]
    assert not any("Delete" in text for text in world.platform.said(place))


def test_only_the_machine_of_the_session_is_asked(machine: Machine, place: Place) -> None:
    other = Machine(machine.world, id="desktop", orders=(TRANSCRIBE,))
    speak(machine.world, place)
    order = listen(machine)
    assert other.waiting() == []
    with pytest.raises(UnknownOrder):
        other.take(order)
    with pytest.raises(UnknownOrder):
        other.answer_order(order, OrderAnswer("d-1", text="Delete it."))


def test_a_runner_that_was_replaced_by_an_older_one_is_not_waited_for(world: World) -> None:
    """The older one does not say that it transcribes: the service does it then."""
    machine = Machine(world, orders=(TRANSCRIBE,))
    place = machine.moved()
    speak(world, place)
    listen(machine)
    machine.orders = ()
    machine.register()
    world.wait(2)
    world.runs.send(Fetch(place, "0001", "s-1"))
    world.agents()
    world.messages()
    assert machine.start().words[0].text.endswith("Run the tests, please.")


def test_an_answer_while_the_message_is_still_read_is_not_lost(machine: Machine, place: Place) -> None:
    world, create = machine.world, machine.world.services.store.orders.create

    def answered_at_once(*arguments: Any) -> Order:
        order = create(*arguments)
        machine.answer_order(machine.take(order), OrderAnswer("d-1", text="At once."))
        world.agents()
        return order

    with mock.patch.object(world.services.store.orders, "create", answered_at_once):
        speak(world, place)
        world.messages()
        world.agents()
    world.messages()
    assert [word.text for word in machine.start().words] == ["[spoken, as it was understood:]\nAt once."]


def test_a_machine_that_is_away_is_not_asked(machine: Machine, place: Place) -> None:
    world = machine.world
    world.wait(AWAY_AFTER / 1000)
    speak(world, place)
    world.messages()
    world.agents()
    world.messages()
    assert machine.waiting() == []
    assert machine.start().words[0].text.endswith("did not reach you: the machine that transcribes is away]")


def test_the_service_transcribes_for_a_machine_that_does_not(world: World) -> None:
    machine = Machine(world, orders=())
    place = machine.moved()
    speak(world, place)
    world.messages()
    world.agents()
    world.messages()
    assert machine.start().words[0].text.endswith("Run the tests, please.")


def test_a_voice_of_a_session_that_has_moved_is_not_transcribed(machine: Machine, place: Place) -> None:
    world = machine.world
    speak(world, place)
    world.messages()
    world.agents()
    (order,) = machine.waiting()
    resume_session(world.services, order.user_id, order.session_id, epoch=order.epoch)
    with pytest.raises(OrderEnded):
        machine.take(order)
    assert not any("before your machine answered" in text for text in world.platform.said(place))


def test_a_machine_without_a_command_gets_one_line(world: World) -> None:
    world.services = replace(world.services, transcriber=None)
    place = Machine(world, orders=()).moved()
    speak(world, place)
    world.messages()
    assert world.platform.said(place)[-1] == "I cannot read voice messages yet. Write it as text."
