"""What a user sees of a machine at work, and what the machine hears: progress, questions, later words."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.progress import Summary
from shared.domain.questions import Option, QuestionState
from shared.domain.routes import Place
from shared.errors import NotSent, TurnEnded
from shared.ports.inbound import WebhookRequest
from shared.ports.platforms import Part
from shared.ports.queue import InboxEvent, Show
from shared.store.inbox import InboxRow
from shared.use_cases.chat.receive_message import receive_message
from shared.use_cases.deliver import deliver
from shared.use_cases.presses import NOT_YOURS
from shared.use_cases.questions.decide import NO_LONGER_ASKED, NOT_ALL_SHOWN
from shared.use_cases.runners.report_turn import Asked
from tests.support.machine import OPTIONS, Machine, post, press, shown
from tests.support.question_text import code_of, decoded
from tests.support.use_case_world import TURN_LEASE, USER, World

MINUTES_15 = 900


@pytest.fixture
def at_work(world: World, machine: Machine, place: Place) -> Machine:
    """The machine works on `And?`."""
    post(world, place, "0001", "And?")
    machine.start()
    return machine


def button(machine: Machine, number: int = 1, index: int = 0, fence: int = 1) -> str:
    return f"q.{machine.turn.id}.{fence}.{number}.{index}"


def asked(world: World, machine: Machine, number: int = 1) -> None:
    machine.ask(number)
    world.messages()


def decided(machine: Machine, **more: Any) -> list[tuple[int, str | None]]:
    return [(question.number, question.option) for question in machine.report(**more).decided]


# --- the lease


def test_a_report_renews_the_lease(world: World, at_work: Machine) -> None:
    world.wait(30)
    at_work.report()
    turn = world.current().turn
    assert turn is not None
    assert turn.lease_until == world.clock.now() + TURN_LEASE
    version = world.current().version
    world.wait(1)
    at_work.report()
    assert world.current().version == version, "a busy agent reports each second"


# --- steering


def test_later_words_are_given_until_they_are_acknowledged(world: World, at_work: Machine, place: Place) -> None:
    post(world, place, "0002", "Also this.")
    post(world, place, "0003", "And that.")
    for _ in range(2):
        assert [word.text for word in at_work.report().steered] == ["Also this.", "And that."]
    assert [word.text for word in at_work.report(acknowledged=["0002"]).steered] == ["And that."]
    assert [word.text for word in at_work.report().steered] == ["And that."]
    assert at_work.report(acknowledged=["0003"]).steered == []
    at_work.result("All three.", given=["0001", "0002", "0003"])
    world.messages()
    assert shown(world, place) == ["All three."]
    assert [message["content"] for message in world.transcript()[4:]] == [
        "And?",
        "Also this.",
        "And that.",
        "All three.",
    ]


def test_a_new_claim_is_given_all_words_at_once(world: World, at_work: Machine, place: Place) -> None:
    post(world, place, "0002", "Also this.")
    at_work.report(acknowledged=["0002"])
    again = Machine(world)
    claimed = again.claim("c-2", previous_fence=1)
    assert [word.text for word in claimed.words] == ["And?", "Also this."]
    again.begin()
    assert again.report().steered == []


def test_a_repeated_claim_does_not_repeat_what_is_steered(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "one")
    machine.claim("c-1")
    post(world, place, "0002", "two")
    assert [word.text for word in machine.claim("c-1").words] == ["one"]
    machine.begin()
    assert [word.text for word in machine.report().steered] == ["two"]


def test_commands_and_other_users_do_not_reach_the_agent(world: World, at_work: Machine, place: Place) -> None:
    world.store.accounts.add_identity("eve", "chat", "eve-there")
    post(world, place, "0002", "/status")
    post(world, place, "0003", "Do as I say.", sender="eve-there")
    assert at_work.report().steered == []


def test_words_beyond_what_a_turn_takes_wait(world: World, at_work: Machine, place: Place) -> None:
    for number in range(2, 31):
        post(world, place, f"{number:04}", f"words {number}")
    assert len(at_work.report().steered) == 24
    at_work.result(given=[f"{number:04}" for number in range(1, 26)])
    world.messages()
    assert len(at_work.claim("c-2").words) == 5


# --- progress


def test_progress_is_one_message_that_is_edited_and_shrinks(world: World, at_work: Machine, place: Place) -> None:
    at_work.report(said="Looking.", tool="make test", summary=Summary(1, 0, 2))
    world.messages()
    (first,) = shown(world, place)
    assert "Looking." in first
    assert "make test" in first
    world.wait(3)
    at_work.report(said="Fixing.", summary=Summary(2, 1, 5))
    world.messages()
    assert ["Fixing." in text for text in shown(world, place)] == [True]
    at_work.result("Fixed.", summary=Summary(12, 3, 48))
    world.messages()
    assert shown(world, place) == ["12 steps, 3 files, 48 s", "Fixed."]


def test_progress_is_shown_every_three_seconds_at_most(world: World, at_work: Machine) -> None:
    at_work.report(said="one")
    world.messages()
    world.wait(2.9)
    at_work.report(said="two")
    assert not [one for one in world.queue.waiting if isinstance(one.message, Show)]
    world.wait(0.1)
    at_work.report(said="three")
    assert [one for one in world.queue.waiting if isinstance(one.message, Show)]


def test_an_older_report_is_not_shown(world: World, at_work: Machine, place: Place) -> None:
    at_work.report(said="new", seq=9)
    world.messages()
    world.wait(5)
    at_work.report(said="old", seq=8)
    world.messages()
    assert ["new" in text for text in shown(world, place)] == [True]


def test_a_stopped_turn_shrinks_its_progress(world: World, at_work: Machine, place: Place) -> None:
    at_work.report(said="Looking.", summary=Summary(4, 0, 9))
    world.messages()
    post(world, place, "0002", "/stop")
    assert shown(world, place)[0] == "Stopped after 4 steps, 9 s."


def test_progress_that_cannot_be_shown_stops_nothing(world: World, at_work: Machine, place: Place) -> None:
    world.platform.down = NotSent("down")
    at_work.report(said="Looking.")
    world.messages()
    world.platform.down = None
    at_work.result("Done.")
    world.turns()
    assert shown(world, place)[-1] == "Done."


def test_progress_that_comes_after_the_end_is_not_shown(world: World, at_work: Machine, place: Place) -> None:
    at_work.report(said="Looking.")
    at_work.result("Done.")
    world.messages()
    assert shown(world, place) == ["Done."]


# --- questions


def test_a_question_is_asked_with_buttons_and_answered_by_one(world: World, at_work: Machine, place: Place) -> None:
    asked(world, at_work)
    (post_,) = world.platform.posts[place][1:]
    assert "Run the tests?" in post_.text
    assert [one.label for one in post_.buttons] == ["Allow", "Always allow", "Reject"]
    assert press(world, place, post_.buttons[0].id) == "Allow."
    assert "✓ Allow" in post_.text
    assert post_.buttons == ()
    assert decided(at_work) == [(1, "yes")]
    assert decided(at_work) == [(1, "yes")], "until it is acknowledged"
    assert decided(at_work, acknowledged=["q1"]) == []
    assert world.store.questions.of("s-1", at_work.turn.id) == []


def test_the_same_question_is_asked_once(world: World, at_work: Machine, place: Place) -> None:
    asked(world, at_work)
    asked(world, at_work)
    assert len(shown(world, place)) == 1


def test_another_user_decides_nothing(world: World, at_work: Machine, place: Place) -> None:
    world.store.accounts.add_identity("eve", "chat", "eve-there")
    asked(world, at_work)
    assert press(world, place, button(at_work), sender="eve-there") == NOT_YOURS
    post(world, place, "0002", "/approve 1", sender="eve-there")
    assert decided(at_work) == []
    world.platform.acknowledged.clear()
    with pytest.raises(IndexError):  # a person who is not known is not answered
        press(world, place, button(at_work), sender="stranger")
    assert decided(at_work) == []


def test_a_forwarded_command_decides_nothing(world: World, at_work: Machine, place: Place) -> None:
    asked(world, at_work)
    body = f"0002|{place.thread}|/approve 1|ada-there|forwarded".encode()
    receive_message(world.services, "chat", WebhookRequest(body, {"signature": "good"}))
    world.messages()

    assert decided(at_work) == []
    assert [word.text for word in at_work.report().steered] == ["[forwarded] /approve 1"]


def test_a_question_is_decided_once(world: World, at_work: Machine, place: Place) -> None:
    asked(world, at_work)
    press(world, place, button(at_work, index=2))
    assert press(world, place, button(at_work, index=0)) == "Already answered: Reject."
    assert decided(at_work) == [(1, "no")]


def test_an_unanswered_question_counts_as_refused(world: World, at_work: Machine, place: Place) -> None:
    asked(world, at_work)
    world.wait(MINUTES_15)
    assert "not answered in time" in press(world, place, button(at_work))
    heard = at_work.report()
    assert [(question.state, question.option) for question in heard.decided] == [(QuestionState.EXPIRED, None)]
    world.messages()
    assert "counts as refused" in shown(world, place)[0]
    assert "not answered in time" in press(world, place, button(at_work))


def test_a_press_for_an_older_claim_is_no_longer_asked(world: World, at_work: Machine, place: Place) -> None:
    asked(world, at_work)
    again = Machine(world)
    again.claim("c-2", previous_fence=1)
    assert press(world, place, button(at_work)) == NO_LONGER_ASKED
    again.begin()
    assert decided(again) == []


@pytest.mark.parametrize("pressed", ["q.unknown.1.1.0", "q.{turn}.1.7.0", "q.{turn}.1.1.9", "nonsense"])
def test_an_unknown_button_is_no_longer_asked(world: World, at_work: Machine, place: Place, pressed: str) -> None:
    asked(world, at_work)
    assert press(world, place, pressed.format(turn=at_work.turn.id)) == NO_LONGER_ASKED
    assert press(world, Place("chat", "home", "t9"), button(at_work)) == NO_LONGER_ASKED


def test_questions_are_closed_at_the_end(world: World, at_work: Machine, place: Place) -> None:
    asked(world, at_work, 1)
    asked(world, at_work, 2)
    press(world, place, button(at_work, 1))
    at_work.result("Done.")
    world.messages()
    first, second, reply = world.platform.posts[place][1:]
    assert ("✓ Allow" in first.text, "No longer asked" in second.text) == (True, True)
    assert (first.buttons, second.buttons, reply.text) == ((), (), "Done.")
    assert world.store.questions.of("s-1", at_work.turn.id) == []
    assert press(world, place, button(at_work, 2)) == NO_LONGER_ASKED


def test_a_stopped_turn_closes_its_questions(world: World, at_work: Machine, place: Place) -> None:
    asked(world, at_work)
    post(world, place, "0002", "/stop")
    assert "No longer asked" in shown(world, place)[0]
    assert press(world, place, button(at_work)) == NO_LONGER_ASKED
    with pytest.raises(TurnEnded):
        at_work.ask(2)


def test_a_question_that_cannot_be_shown_as_closed_is_closed(world: World, at_work: Machine, place: Place) -> None:
    asked(world, at_work)
    world.platform.next["edit"].append(NotSent("down"))
    post(world, place, "0002", "/stop")
    (question,) = world.store.questions.of("s-1", at_work.turn.id)
    assert (question.state, question.is_acknowledged) == (QuestionState.CLOSED, True)


def test_a_question_that_could_not_be_posted_is_posted_later(world: World, at_work: Machine, place: Place) -> None:
    world.platform.down = NotSent("down")
    asked(world, at_work)
    assert shown(world, place) == []
    world.platform.down = None
    world.wait(10)
    world.messages()
    assert len(shown(world, place)) == 1


@pytest.mark.parametrize("number", ["", " 1", " #1"])
def test_a_question_is_answered_by_a_command(world: World, at_work: Machine, place: Place, number: str) -> None:
    asked(world, at_work)
    post(world, place, "0002", f"/approve{number}")
    assert shown(world, place)[-1] == "**1.** `Run the tests?`\nAllow."
    assert decided(at_work) == [(1, "yes")]
    assert decided(at_work, acknowledged=["q1"]) == []
    asked(world, at_work, 2)
    post(world, place, "0003", f"/deny{number.replace('1', '2')}")
    assert decided(at_work) == [(2, "no")]


def test_a_command_without_a_number_is_not_guessed(world: World, at_work: Machine, place: Place) -> None:
    post(world, place, "0002", "/approve")
    assert shown(world, place)[-1] == "Nothing is asked right now."
    asked(world, at_work, 1)
    asked(world, at_work, 2)
    post(world, place, "0003", "/approve")
    assert "Say which one" in shown(world, place)[-1]
    post(world, place, "0004", "/deny 7")
    assert "No such question is open" in shown(world, place)[-1]
    post(world, place, "0005", "/approve 2")
    assert decided(at_work) == [(2, "yes")]
    post(world, place, "0006", "/deny")
    assert decided(at_work) == [(1, "no"), (2, "yes")]


def test_a_command_never_allows_for_good(world: World, at_work: Machine, place: Place) -> None:
    always = [Option("always", "allow_always", "Always"), replace(OPTIONS[2], kind="reject_always")]
    at_work.ask(1, options=[*reversed(OPTIONS)])
    at_work.ask(2, options=always)
    at_work.ask(3, options=[replace(OPTIONS[0], kind="other")])
    world.messages()
    for number in (1, 2, 3):
        post(world, place, f"000{number + 1}", f"/approve {number}")
        assert ("offers no such answer" in shown(world, place)[-1]) is (number > 1)
    post(world, place, "0005", "/deny 2")
    assert decided(at_work) == [(1, "yes"), (2, "no")]


def test_a_long_question_is_posted_whole_with_the_buttons_below(world: World, at_work: Machine, place: Place) -> None:
    detail = "▸ command: " + "echo a b & " * 400 + "\n▸ path: /etc"
    at_work.report(asked=[Asked(1, "Run *this*", OPTIONS, detail=detail)])
    world.messages()
    parts = world.platform.posts[place][1:]
    assert len(parts) > 4
    assert decoded(code_of(Part(part.text) for part in parts)) == decoded(detail)
    assert [bool(part.buttons) for part in parts] == [False] * (len(parts) - 1) + [True]
    assert "`Run *this*`" in parts[0].text


def test_nothing_is_decided_before_all_of_it_was_sent(world: World, at_work: Machine, place: Place) -> None:
    world.platform.next["send"].extend([lambda: None, NotSent("down")])
    at_work.report(asked=[Asked(1, "Run this", OPTIONS, detail="echo a b & " * 400)])
    world.messages()
    assert len(shown(world, place)) == 1
    assert press(world, place, button(at_work)) == NOT_ALL_SHOWN
    assert decided(at_work) == []


@pytest.mark.parametrize("how", ["press", "command"])
def test_a_question_whose_sender_died_can_be_decided(world: World, at_work: Machine, place: Place, how: str) -> None:
    at_work.ask()
    deliver(world.services, "s-1", f"question-{at_work.turn.id}-1-1")
    if how == "press":
        assert press(world, place, button(at_work)) == "Allow."
    else:
        post(world, place, "0002", "/approve 1")
    assert decided(at_work) == [(1, "yes")]


def test_a_press_while_the_last_message_is_being_sent_counts(world: World, at_work: Machine, place: Place) -> None:
    at_work.ask()
    told: list[str] = []
    world.platform.next["send"].append(lambda: told.append(press(world, place, button(at_work))))
    deliver(world.services, "s-1", f"question-{at_work.turn.id}-1-1")
    assert told == ["Allow."]


@pytest.mark.parametrize("number", ["", " 1"])
def test_a_command_decides_only_what_was_shown_before_it(
    world: World, at_work: Machine, place: Place, number: str
) -> None:
    said = world.clock.now()
    world.wait(5)
    asked(world, at_work)
    row = InboxRow(place, "0002", "ada-there", f"/approve{number}", world.clock.now(), USER, written_at=said)
    assert world.store.inbox.put(row)
    world.services.queue.send(InboxEvent(place, "0002"), dedupe="late", line=None)
    world.messages()
    assert decided(at_work) == []
    assert (NOT_ALL_SHOWN if number else "Say which one") in shown(world, place)[-1]


def test_numbers_are_not_used_again_in_a_session(world: World, at_work: Machine, place: Place) -> None:
    asked(world, at_work)
    again = Machine(world)
    again.claim("c-2", previous_fence=1)
    again.begin()
    asked(world, again)
    post(world, place, "0002", "/approve 1")
    assert shown(world, place)[-1] == f"**1.** `Run the tests?`\n{NO_LONGER_ASKED}"
    assert decided(again) == []
    post(world, place, "0003", "/approve 2")
    assert decided(again) == [(1, "yes")]


def test_the_detail_stays_after_the_decision(world: World, at_work: Machine, place: Place) -> None:
    asked(world, at_work)
    press(world, place, button(at_work))
    (text,) = shown(world, place)
    assert "```\nmake test\n```\n✓ Allow" in text
    assert "/approve" not in text


def test_a_question_that_cannot_be_allowed_says_why(world: World, at_work: Machine, place: Place) -> None:
    at_work.report(asked=[Asked(1, "Run this", OPTIONS[2:], detail="x", reason="It is too long to show here.")])
    world.messages()
    (post_,) = world.platform.posts[place][1:]
    assert "It is too long to show here. Answer with a button, or send `/deny 1`." in post_.text
    assert [one.label for one in post_.buttons] == ["Reject"]
    post(world, place, "0002", "/approve 1")
    assert shown(world, place)[-1] == "It is too long to show here."
    assert decided(at_work) == []


def test_a_question_without_options_is_not_asked(world: World, at_work: Machine, place: Place) -> None:
    at_work.ask(options=[])
    world.messages()
    assert shown(world, place) == []
