"""Shared threads: guests talk under their name, and nothing that they type or press changes anything."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from shared.domain.commands import COMMANDS
from shared.domain.limits import Limits
from shared.domain.routes import Place
from shared.domain.speakers import GUEST_NOTE
from shared.store.bundle import store_on
from shared.use_cases.chat.share_command import GUESTS_MAY
from tests.support.machine import Machine, arrive, press
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import World

GUEST = "bob-there"
OWNERS = sorted(set(COMMANDS) - GUESTS_MAY - {"queue"})
"""Commands of the owner only. What a guest says with `/queue` waits as other words do."""
OWNERS_COMMANDS = (
    *(f"/{name}" for name in OWNERS),
    "/resume s-1",
    "/handoff chat",
    "/share off",
    "/approve 1",
    "/deny 1",
    "/answer 1 2",
    "/skip 1",
    "/model haiku",
    "/mode plan",
    "/effort high",
    "/budget 5",
    "/bring 1",
    "/title another",
)
CHAT = Path(__file__).parents[4] / "docs" / "chat.md"


def with_guest(world: World) -> World:
    world.store.accounts.add_identity("bob", "chat", GUEST)
    return world


@pytest.fixture
def place(world: World) -> Place:
    """The thread of a session that is not shared: four messages. Bob is known too."""
    place = with_guest(world).moved()[1]
    world.runs.waiting.clear()
    return place


@pytest.fixture
def shared(world: World, place: Place) -> Place:
    arrive(world, place, "0001", "/share")
    world.turns()
    assert world.current().shared
    return place


def told(world: World, place: Place) -> list[str]:
    return world.platform.said(place)[1:]


def asked(world: World) -> list[str]:
    """What users said since the handoff, as the transcript has it."""
    return [str(message["content"]) for message in world.transcript()[4:] if message["role"] == "user"]


def test_a_guests_words_reach_the_agent_with_the_name(world: World, shared: Place) -> None:
    arrive(world, shared, "0002", "I think it is [flaky]", sender=GUEST)
    world.turns()

    assert asked(world) == ["[bob] I think it is [flaky]"]
    assert told(world, shared)[-1] == "reply to 5"
    assert world.agent.notes[-1] == GUEST_NOTE


def test_the_owners_words_have_no_name_and_no_note(world: World, shared: Place) -> None:
    arrive(world, shared, "0002", "[bob] said so")
    world.turns()

    assert asked(world) == ["[bob] said so"]
    assert world.agent.notes[-1] is None


def test_words_of_several_people_are_one_conversation(world: World, shared: Place) -> None:
    world.store.accounts.add_identity("cy", "chat", "cy-there")
    arrive(world, shared, "0002", "one", sender=GUEST)
    arrive(world, shared, "0003", "two")
    arrive(world, shared, "0004", "three", sender="cy-there")
    arrive(world, shared, "0005", "four", sender=GUEST)
    world.turns()

    assert asked(world) == ["[bob] one", "two", "[cy] three", "[bob] four"]
    assert len(world.agent.given) == 2, "the kickoff, and one turn for all"


def test_unknown_people_are_never_heard(world: World, shared: Place) -> None:
    arrive(world, shared, "0002", "let me in", sender="mallory")
    world.turns()

    assert asked(world) == []
    assert world.store.inbox.get(shared, "0002") is None


def test_without_sharing_other_users_are_ignored(world: World, place: Place) -> None:
    arrive(world, place, "0002", "hello?", sender=GUEST)
    world.turns()

    row = world.store.inbox.get(place, "0002")
    assert row is not None
    assert row.done_by == "ignored"
    assert (asked(world), told(world, place)) == ([], [])


def test_share_off_ends_it(world: World, shared: Place) -> None:
    arrive(world, shared, "0002", "/share off")
    arrive(world, shared, "0003", "still there?", sender=GUEST)
    arrive(world, shared, "0004", "only me")
    world.turns()

    assert asked(world) == ["only me"]
    assert "not shared any more" in told(world, shared)[1]


def test_words_behind_share_wait_for_it(world: World, place: Place) -> None:
    """A wake-up of the place comes first."""
    arrive(world, place, "0001", "mine")
    world.turn()
    arrive(world, place, "0002", "/share")
    arrive(world, place, "0003", "hello", sender=GUEST)
    world.queue.waiting.reverse()
    world.turns()

    assert asked(world) == ["mine", "[bob] hello"]


def test_share_says_how_it_is_used(world: World, place: Place) -> None:
    arrive(world, place, "0001", "/share everything")
    world.turns()

    assert "/share off" in told(world, place)[-1]
    assert not world.current().shared


def test_share_in_a_place_without_a_session_says_so(world: World, place: Place) -> None:
    other = Place("chat", "home", "t9")
    arrive(world, other, "0001", "/share")
    world.turns()
    assert "No session of yours lives here" in world.platform.said(other)[-1]


def test_a_handoff_can_share_from_the_start(world: World) -> None:
    _, place = with_guest(world).moved(share=True)
    assert world.current().shared
    assert "This thread is shared" in world.platform.said(place)[0]
    arrive(world, place, "0001", "hello", sender=GUEST)
    world.turns()
    assert asked(world) == ["[bob] hello"]


def test_the_owners_commands_are_those_that_the_docs_name() -> None:
    named = CHAT.read_text().split("Guests decide nothing.")[1].split("change nothing")[0]
    assert sorted(re.findall(r"`/([a-z]+)`", named)) == OWNERS


@pytest.mark.parametrize("command", OWNERS_COMMANDS)
def test_a_guests_command_changes_nothing(world: World, shared: Place, command: str) -> None:
    before = world.current()
    arrive(world, shared, "0002", command, sender=GUEST)
    world.turns()

    assert world.current() == before
    assert "nothing was changed" in told(world, shared)[-1]
    assert world.store.sessions.list("bob", limit=9).sessions == []
    assert [h.command for h in world.store.handoffs.list("bob", session_id=None, state=None, limit=9)] == []


def test_a_guest_who_floods_is_answered_once_in_an_hour(world: World, shared: Place) -> None:
    answers = len(told(world, shared))
    for number in range(20):
        arrive(world, shared, f"1{number:03}", OWNERS_COMMANDS[number % len(OWNERS_COMMANDS)], sender=GUEST)
    world.turns()
    assert len(told(world, shared)) == answers + 1

    world.wait(3600)
    arrive(world, shared, "2000", "/stop", sender=GUEST)
    world.turns()
    assert len(told(world, shared)) == answers + 2


@pytest.mark.parametrize("command", ["/stop", "/new", "/handoff chat", "/share off"])
def test_a_guests_command_does_not_disturb_a_turn_with_their_words(world: World, shared: Place, command: str) -> None:
    def work() -> str:
        arrive(world, shared, "0004", command, sender=GUEST)
        world.messages()
        return "undisturbed"

    world.agent.next.append(work)
    arrive(world, shared, "0002", "theirs", sender=GUEST)
    arrive(world, shared, "0003", "mine")
    world.turns()

    assert asked(world) == ["[bob] theirs", "mine"]
    assert "undisturbed" in told(world, shared)
    assert len(world.agent.given) == 2


def test_the_owners_stop_stops_a_turn_of_a_guest_and_the_owner(world: World, shared: Place) -> None:
    def work() -> str:
        arrive(world, shared, "0004", "/stop")
        return "too late"

    world.agent.next.append(work)
    arrive(world, shared, "0002", "mine")
    arrive(world, shared, "0003", "theirs", sender=GUEST)
    world.turns()

    assert "too late" not in told(world, shared)
    assert asked(world) == []


def test_the_owners_stop_stops_a_turn_of_guests_alone(world: World, shared: Place) -> None:
    def work() -> str:
        arrive(world, shared, "0003", "/stop")
        return "too late"

    world.agent.next.append(work)
    arrive(world, shared, "0002", "theirs", sender=GUEST)
    world.turns()

    assert asked(world) == []
    assert "Stopped" in told(world, shared)[-1]


def test_a_guest_sees_what_the_thread_is(world: World, shared: Place) -> None:
    arrive(world, shared, "0002", "/status", sender=GUEST)
    world.turns()
    assert "is shared: you may talk here" in told(world, shared)[-1]
    assert "s-1" not in told(world, shared)[-1]


def test_the_owner_sees_that_it_is_shared(world: World, shared: Place) -> None:
    arrive(world, shared, "0002", "/status")
    world.turns()
    assert "It is shared." in told(world, shared)[-1]


def test_the_limit_counts_for_the_guest_who_speaks() -> None:
    world = with_guest(World(store_on(MemoryTables(), Limits(turns_per_hour=2))))
    place = world.moved(share=True)[1]  # the handoff counts one turn of the owner
    for number in range(3):
        arrive(world, place, f"0{number:03}", f"theirs {number}", sender=GUEST)
        world.turns()
    assert asked(world) == ["[bob] theirs 0", "[bob] theirs 1"]
    assert "which is the limit" in told(world, place)[-1]

    arrive(world, place, "0008", "theirs again", sender=GUEST)
    arrive(world, place, "0009", "mine")
    world.turns()
    assert asked(world)[2:] == ["mine"], "the owner's limit is another one"


def test_a_broken_session_waits_for_its_owner(world: World, shared: Place) -> None:
    session = world.current()
    world.store.sessions.replace(session, replace(session, suspended=True))
    arrive(world, shared, "0002", "hello?", sender=GUEST)
    world.turns()
    assert world.store.sessions.at(shared) == "s-1"
    assert world.store.sessions.list("bob", limit=9).sessions == []

    arrive(world, shared, "0003", "theirs", sender=GUEST)
    arrive(world, shared, "0004", "mine")
    world.turns()
    fresh = str(world.store.sessions.at(shared))
    assert fresh != "s-1"
    assert world.transcript(fresh)[0]["content"] == "mine", "the new one is not shared"


def test_after_a_move_the_guest_is_not_heard_and_not_told(world: World, shared: Place) -> None:
    arrive(world, shared, "0002", "/handoff chat")
    world.messages()
    (handoff, *_) = [h for h in world.store.handoffs.list("ada", session_id=None, state=None, limit=9) if h.command]
    world.process(handoff)
    world.turns()
    answers = len(told(world, shared))
    there = world.current().owner
    for number, place in enumerate((shared, there)):
        arrive(world, place, f"000{number + 3}", "hello?", sender=GUEST)
    world.turns()

    assert not world.current().shared
    assert asked(world)[-1].startswith("This session (Parser) was just handed off")
    assert len(told(world, shared)) == answers


def machine_thread(world: World) -> tuple[Machine, Place]:
    """A shared thread of a session that a machine runs, after its confirmation."""
    machine = Machine(with_guest(world))
    machine.session()
    world.process(world.ask(share=True))
    machine.claim()
    machine.begin()
    machine.result("here")
    world.messages()
    world.runs.waiting.clear()
    return machine, world.current().owner


def test_the_confirmation_of_a_machine_says_that_it_is_shared(world: World) -> None:
    _, place = machine_thread(world)
    assert "This thread is shared" in world.platform.said(place)[0]


def test_a_machine_is_given_names_also_while_it_works(world: World) -> None:
    machine, place = machine_thread(world)
    arrive(world, place, "0001", "theirs", sender=GUEST)
    world.messages()
    claim = machine.claim()
    assert [word.text for word in claim.words] == ["[bob] theirs"]
    machine.begin()
    arrive(world, place, "0002", "more", sender=GUEST)
    arrive(world, place, "0003", "mine")
    world.messages()

    assert [word.text for word in machine.report().steered] == ["[bob] more", "mine"]


def test_guests_words_do_not_steer_once_it_is_not_shared(world: World) -> None:
    machine, place = machine_thread(world)
    arrive(world, place, "0001", "mine")
    world.messages()
    machine.claim()
    machine.begin()
    arrive(world, place, "0002", "/share off")
    arrive(world, place, "0003", "theirs", sender=GUEST)
    world.messages()

    assert machine.report().steered == []


def test_a_guest_decides_no_question(world: World) -> None:
    machine, place = machine_thread(world)
    arrive(world, place, "0001", "mine")
    world.messages()
    machine.claim()
    machine.begin()
    machine.ask()
    world.messages()
    (question,) = [message for message in world.platform.posts[place] if message.buttons]

    assert "Only the person whose session this is" in press(world, place, question.buttons[0].id, sender=GUEST)
    arrive(world, place, "0002", "/approve 1", sender=GUEST)
    arrive(world, place, "0003", "/deny 1", sender=GUEST)
    world.messages()
    assert machine.report().decided == []

    press(world, place, question.buttons[0].id)
    assert len(machine.report().decided) == 1
