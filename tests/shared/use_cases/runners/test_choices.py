"""Choices of an agent in its thread: by buttons, commands and words, while its turn runs and after it."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.questions import CHOICE, Option, QuestionState
from shared.domain.routes import Place
from shared.errors import NotSent
from shared.ports.inbound import WebhookRequest
from shared.ports.queue import InboxEvent
from shared.use_cases.chat.receive_message import receive_message
from shared.use_cases.presses import NOT_YOURS
from shared.use_cases.questions.decide import CHANGED, NO_LONGER_ASKED, NOTHING_CHOSEN
from shared.use_cases.runners.report_turn import Asked, ReportAnswer
from tests.support.fake_platform import Post
from tests.support.machine import Machine, post, press, shown
from tests.support.use_case_world import World

MINUTES_15 = 900
OPTIONS = (Option("1", "", "SQLite", "one file"), Option("2", "", "Postgres"), Option("3", "", "x" * 150))


@pytest.fixture
def at_work(world: World, machine: Machine, place: Place) -> Machine:
    """The machine works on `And?`."""
    post(world, place, "0001", "And?")
    machine.start()
    return machine


def choose(machine: Machine, number: int = 1, **more: Any) -> Post:
    """Ask for a choice; returns the message in the thread."""
    asked = {"title": "Which database?", "options": OPTIONS, "kind": CHOICE, "free": True, **more}
    machine.report(asked=[Asked(number, **asked)])
    machine.world.messages()
    place = machine.world.current().owner
    return machine.world.platform.posts[place][-1]


def button(posted: Post, label: str) -> str:
    return next(one.id for one in posted.buttons if label in one.label)


def decided(heard: ReportAnswer) -> list[tuple[int, str, tuple[str, ...] | str | None]]:
    return [
        (one.number, one.state.value, one.chosen or one.option or one.words or heard.texts.get(one.number))
        for one in heard.decided
    ]


def end(machine: Machine, given: list[str], answered: tuple[int, ...] = ()) -> None:
    machine.result("Done.", given=given, answered=answered)
    machine.world.messages()


# --- one option


def test_a_choice_shows_all_its_texts_and_a_button_answers_it(world: World, at_work: Machine, place: Place) -> None:
    posted = choose(at_work)
    for text in ("Which database?", "1. SQLite: one file", "2. Postgres", f"3. {'x' * 150}", "/answer 1 1", "/skip 1"):
        assert text in posted.text
    assert [one.label for one in posted.buttons] == ["1 SQLite", "2 Postgres", f"3 {'x' * 37}…", "Skip"]
    assert all(len(one.id) <= 64 for one in posted.buttons)
    asked_as = button(posted, "Postgres")
    assert press(world, place, asked_as) == "Postgres."
    assert "✓ `Postgres`" in posted.text
    assert posted.buttons == ()
    assert press(world, place, asked_as) == "Already answered: Postgres.", "a redelivered press changes nothing"
    assert decided(at_work.report()) == [(1, "answered", "2")]
    assert decided(at_work.report(acknowledged=["q1"])) == []
    assert press(world, place, asked_as) == NO_LONGER_ASKED


def test_a_guest_decides_nothing_of_a_choice(world: World, at_work: Machine, place: Place) -> None:
    world.store.accounts.add_identity("eve", "chat", "eve-there")
    post(world, place, "0002", "/share")
    posted = choose(at_work)
    assert press(world, place, button(posted, "SQLite"), sender="eve-there") == NOT_YOURS
    for number, text in enumerate(("/answer 1 2", "/skip 1", "DuckDB"), start=3):
        post(world, place, f"{number:04}", text, sender="eve-there")
    heard = at_work.report()
    assert decided(heard) == []
    assert [word.text for word in heard.steered] == ["[eve] DuckDB"]


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("1 2", "Postgres."),
        ("#1 2", "Postgres."),
        ("1 4", "It has the options 1 to 3."),
        ("1 0", "It has the options 1 to 3."),
        ("1 1 2", "Only one of its options can be chosen."),
        ("1", "Send `/answer 1` and your answer."),
        ("1 DuckDB, in memory", "DuckDB, in memory."),
        (f"1 {'x' * 4001}", "An answer has at most 4000 characters."),
        ("7 1", "No such question is open"),
        ("", "Say which one"),
    ],
)
def test_a_command_answers_by_number_or_words(
    world: World, at_work: Machine, place: Place, argument: str, told: str
) -> None:
    choose(at_work)
    post(world, place, "0002", f"/answer {argument}".strip())
    assert told in shown(world, place)[-1]
    if told == "Postgres.":
        assert decided(at_work.report()) == [(1, "answered", "2")]
    elif told.startswith("DuckDB"):
        assert decided(at_work.report()) == [(1, "answered", "DuckDB, in memory")]
    else:
        assert decided(at_work.report()) == []


def test_commands_of_permissions_and_choices_do_not_mix(world: World, at_work: Machine, place: Place) -> None:
    choose(at_work, 1)
    at_work.ask(2)
    world.messages()
    for event, (text, told) in enumerate(
        (
            ("/approve 1", "This asks for a choice"),
            ("/answer 2 1", "asks for a permission"),
            ("/skip 2", "asks for a permission"),
        ),
        start=2,
    ):
        post(world, place, f"{event:04}", text)
        assert told in shown(world, place)[-1]
    post(world, place, "0007", "/approve")
    assert decided(at_work.report()) == [(2, "answered", "yes")]


def test_a_choice_is_skipped_by_button_or_command_or_expires(world: World, at_work: Machine, place: Place) -> None:
    first, second, third = (choose(at_work, number) for number in (1, 2, 3))
    skip = button(first, "Skip")
    assert press(world, place, skip) == "Skipped."
    assert "– Skipped" in first.text
    post(world, place, "0002", "/skip 2")
    assert decided(at_work.report()) == [(1, "declined", None), (2, "declined", None)]
    assert press(world, place, skip) == "This was skipped."
    assert "No longer" not in second.text
    world.wait(MINUTES_15)
    assert "counts as skipped" in press(world, place, button(third, "SQLite"))
    assert (3, "expired", None) in decided(at_work.report())
    world.messages()
    assert "counts as skipped" in third.text


# --- several options


def test_several_options_are_marked_by_state_and_done_by_revision(world: World, at_work: Machine, place: Place) -> None:
    posted = choose(at_work, several=True)
    first_done, search = button(posted, "Done"), button(posted, "SQLite")
    assert press(world, place, first_done) == NOTHING_CHOSEN
    assert press(world, place, search) == "☑ SQLite"
    assert [one.label for one in posted.buttons][:2] == ["☑ 1 SQLite", "☐ 2 Postgres"]
    assert "Chosen: 1." in posted.text
    assert press(world, place, search) == "", "the same press again sets the same state"
    assert "☑ 1 SQLite" in posted.buttons[0].label
    off = posted.buttons[0].id
    assert press(world, place, off) == "☐ SQLite"
    assert press(world, place, search) == CHANGED, "a late copy does not mark it again"
    assert press(world, place, button(posted, "2 Postgres")) == "☑ Postgres"
    assert press(world, place, button(posted, "3 x")).startswith("☑ xxx")
    assert press(world, place, first_done) == CHANGED
    done = button(posted, "Done")
    assert press(world, place, done) == f"Postgres, {'x' * 150}."
    assert decided(at_work.report()) == [(1, "answered", ("2", "3"))]
    assert press(world, place, done).startswith("Already answered")
    assert press(world, place, off).startswith("Already answered")


def test_two_options_that_are_pressed_at_once_are_both_marked(world: World, at_work: Machine, place: Place) -> None:
    posted = choose(at_work, several=True)
    one, two = button(posted, "SQLite"), button(posted, "Postgres")
    assert [press(world, place, pressed)[0] for pressed in (one, two)] == ["☑", "☑"]
    post(world, place, "0002", "/answer 1 1 3")
    assert decided(at_work.report()) == [(1, "answered", ("1", "3"))]


def test_numbers_are_sent_where_there_are_too_few_buttons(world: World, at_work: Machine, place: Place) -> None:
    many = [Option(str(number), "", f"Option {number}") for number in range(1, 21)]
    world.platform.capabilities = _with(world, most_buttons=10)
    posted = choose(at_work, options=many)
    assert posted.buttons == ()
    assert "Send `/answer 1 1`" in posted.text
    world.platform.capabilities = _with(world, edits=False)
    assert choose(at_work, 2, several=True).buttons == (), "marks cannot be shown there"
    post(world, place, "0002", "/answer 1 20")
    assert decided(at_work.report()) == [(1, "answered", "20")]


def _with(world: World, **changes: Any) -> Any:
    return replace(world.platform.capabilities, **changes)


# --- free words


def test_words_answer_the_first_question_that_was_shown(world: World, at_work: Machine, place: Place) -> None:
    posted = choose(at_work)
    other = choose(at_work, 2)
    world.wait(1)
    post(world, place, "0002", "DuckDB, in memory")
    heard = at_work.report()
    assert decided(heard) == [(1, "answered", "DuckDB, in memory")]
    assert [one.row for one in heard.decided] == ["0002"]
    assert heard.steered == [], "words are given once: as the answer"
    assert "✓ Answered with your message" in posted.text
    assert "Which database?" in other.text
    heard = at_work.report(acknowledged=["q1"])
    assert (decided(heard), heard.steered) == ([], [])
    assert at_work.report().steered == []
    end(at_work, ["0001", "0002"])
    assert [message["content"] for message in world.transcript()[-3:]] == ["And?", "DuckDB, in memory", "Done."]
    assert machine_waits(world) is False


def machine_waits(world: World) -> bool:
    return world.current().turn is not None


def test_words_whose_answer_the_agent_did_not_take_are_offered_again(
    world: World, at_work: Machine, place: Place
) -> None:
    choose(at_work)
    world.wait(1)
    post(world, place, "0002", "DuckDB")
    end(at_work, ["0001"])
    assert [word.text for word in at_work.claim("c-2").words] == ["DuckDB"]


def test_other_words_are_no_answer(world: World, at_work: Machine, place: Place) -> None:
    world.clock.time += 5
    body = f"0002|{place.thread}|before it was shown|ada-there".encode()
    at_work.report(asked=[Asked(1, "Which database?", OPTIONS, kind=CHOICE, free=True)])
    receive_message(world.services, "chat", WebhookRequest(body, {"signature": "good"}))
    world.clock.time += 5
    world.messages()
    for event, beside in (("0003", "forwarded"), ("0004", "picture")):
        line = f"{event}|{place.thread}|look|ada-there|{beside}".encode()
        receive_message(world.services, "chat", WebhookRequest(line, {"signature": "good"}))
    world.messages()
    choose(at_work, 2, free=False)
    heard = at_work.report()
    assert decided(heard) == []
    assert [word.id for word in heard.steered] == ["0002", "0003", "0004"]


def test_where_nothing_is_edited_the_thread_says_which_question_took_words(
    world: World, at_work: Machine, place: Place
) -> None:
    world.platform.capabilities = _with(world, edits=False)
    choose(at_work)
    choose(at_work, 2)
    world.wait(1)
    post(world, place, "0002", "DuckDB")
    assert "**1.** `Which database?`\n✓ Answered with your message" in shown(world, place)
    world.wait(MINUTES_15)
    at_work.report()
    world.messages()
    assert "**2.** `Which database?`\n✗ Not answered in time, so it counts as skipped" in shown(world, place)


# --- a restart


def test_a_restart_closes_questions_and_carries_answers(world: World, at_work: Machine, place: Place) -> None:
    open_, picked, known, said = (choose(at_work, number) for number in (1, 2, 3, 4))
    at_work.ask(5)
    world.messages()
    press(world, place, button(picked, "Postgres"))
    press(world, place, button(known, "SQLite"))
    press(world, place, f"q.{at_work.turn.id}.1.5.0")
    at_work.report(acknowledged=["q3"])
    world.wait(1)
    post(world, place, "0002", "mine")  # answers the first one
    again = Machine(world)
    claims = [again.claim("c-2", previous_fence=1) for _ in range(2)]
    for claim in claims:
        assert [(one.number, one.answer, one.row) for one in claim.answers] == [(1, "", "0002"), (2, "Postgres", None)]
        assert [word.text for word in claim.words] == ["And?", "mine"]
    world.messages()
    assert "No longer asked" in said.text
    assert "✓" in open_.text
    again.begin()
    heard = again.report(acknowledged=["q1@1", "q2@1"])
    assert (decided(heard), heard.steered) == ([], [])
    third = Machine(world).claim("c-3", previous_fence=2)
    assert third.answers == []
    assert choose(_at(world, third), 1).text.startswith("**6.")


def _at(world: World, claim: Any) -> Machine:
    machine = Machine(world)
    machine.claimed = claim
    machine.begin()
    return machine


# --- questions that do not block


def test_an_answer_in_time_is_heard_and_not_repeated(world: World, at_work: Machine, place: Place) -> None:
    posted = choose(at_work, blocks=False)
    assert "The agent goes on meanwhile." in posted.text
    press(world, place, button(posted, "SQLite"))
    assert decided(at_work.report()) == [(1, "answered", "1")]
    end(at_work, ["0001"], answered=(1,))
    assert machine_waits(world) is False
    assert world.store.questions.all("s-1") == []


def test_answers_that_the_agent_did_not_take_are_a_new_prompt(world: World, at_work: Machine, place: Place) -> None:
    first, second = choose(at_work, 1, blocks=False), choose(at_work, 2, blocks=False, title="Which port?")
    press(world, place, button(first, "SQLite"))
    press(world, place, button(second, "Skip"))
    third = choose(at_work, 3, blocks=False, title="Which name?", options=())
    assert "Write your answer" in third.text
    post(world, place, "0002", "/answer 3 parser")
    end(at_work, ["0001"])
    (word,) = at_work.claim("c-2").words
    assert word.text == "To your question “Which database?”: SQLite\nTo your question “Which name?”: parser"
    assert world.platform.posts[place][-1].text == "Done."


@pytest.mark.parametrize("way", ["button", "command", "words"])
def test_a_question_that_outlives_its_turn_is_answered_by_a_new_prompt(
    world: World, at_work: Machine, place: Place, way: str
) -> None:
    posted = choose(at_work, blocks=False)
    chosen = button(posted, "Postgres")
    end(at_work, ["0001"])
    assert posted.buttons, "it is still asked"
    world.wait(60)
    if way == "button":
        assert press(world, place, chosen) == "Postgres."
        assert press(world, place, chosen) == NO_LONGER_ASKED
        text = "To your question “Which database?”: Postgres"
    elif way == "command":
        post(world, place, "0002", "/answer 1 Postgres, please")
        text = "To your question “Which database?”: Postgres, please"
    else:
        post(world, place, "0002", "Postgres, please")
        text = "Postgres, please"
    (word,) = at_work.claim("c-2").words
    assert word.text == text
    assert ("✓" in posted.text) is (way != "words")
    at_work.begin()
    end(at_work, [word.id])
    assert machine_waits(world) is False


def test_a_late_answer_survives_the_process_that_took_it(
    world: World, at_work: Machine, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    posted = choose(at_work, blocks=False)
    chosen = button(posted, "Postgres")
    end(at_work, ["0001"])

    def die(*_: object, **__: object) -> None:
        raise NotSent("killed")

    with monkeypatch.context() as dying:
        dying.setattr(world.queue, "send", die)
        with pytest.raises(NotSent):
            press(world, place, chosen)
    assert press(world, place, chosen) == "Already answered: Postgres.", "the person presses again"
    assert [word.text for word in at_work.claim("c-2").words] == ["To your question “Which database?”: Postgres"]


def test_a_question_does_not_outlive_a_move_or_its_time(world: World, at_work: Machine, place: Place) -> None:
    first, second = choose(at_work, 1, blocks=False), choose(at_work, 2, blocks=False)
    early, late = button(first, "SQLite"), button(second, "SQLite")
    end(at_work, ["0001"])
    world.wait(MINUTES_15)
    assert "counts as skipped" in press(world, place, early)
    assert "counts as skipped" in first.text
    world.store.moves.to_terminal(world.current(), now=world.clock.now())
    assert press(world, place, late) == NO_LONGER_ASKED
    assert not [one for one in world.queue.waiting if isinstance(one.message, InboxEvent)]


def test_a_stopped_turn_closes_questions_that_do_not_block(world: World, at_work: Machine, place: Place) -> None:
    posted = choose(at_work, blocks=False)
    answered = choose(at_work, 2, blocks=False)
    press(world, place, button(answered, "SQLite"))
    post(world, place, "0002", "/stop")
    assert "No longer asked" in posted.text
    assert machine_waits(world) is False
    assert world.store.questions.all("s-1") == []


# --- beside a choice


def test_a_choice_holds_up_nothing(world: World, at_work: Machine, place: Place) -> None:
    choose(at_work, free=False)
    at_work.ask(2)
    world.messages()
    assert press(world, place, f"q.{at_work.turn.id}.1.2.0") == "Allow."
    post(world, place, "0002", "/status")
    assert "The agent is working on it." in shown(world, place)[-1]
    post(world, place, "0003", "also this")
    assert [word.text for word in at_work.report().steered] == ["also this"]
    _, other = world.moved("s-2")
    post(world, other, "0004", "in another thread")
    world.agents()
    world.messages()
    assert len(shown(world, other)) == 1
    assert world.store.questions.all("s-1")[0].state is QuestionState.OPEN
    post(world, place, "0005", "/stop")
    assert machine_waits(world) is False


# --- plans and messages that wait


def test_a_plan_is_shown_as_messages_of_its_own(world: World, at_work: Machine, place: Place) -> None:
    options = [Option("1", "allow_once", "Approve, and ask before edits"), Option("2", "reject_once", "Keep planning")]
    plan = "# Plan\n\n" + "\n".join(f"- step {number}: {'word ' * 12}" for number in range(40))
    at_work.report(asked=[Asked(1, "Approve this plan?", options, kind="switch_mode", plan=plan)])
    world.messages()
    *parts, question = world.platform.posts[place][1:]
    assert "\n".join(part.text for part in parts).split() == plan.split()
    assert len(parts) > 1
    assert [one.label for one in question.buttons] == ["Approve, and ask before edits", "Keep planning"]
    press(world, place, question.buttons[0].id)
    assert "✓ Approve" in question.text
    assert "step 39" in parts[-1].text, "only the question is edited"


def test_queued_words_wait_for_the_end_of_the_turn(world: World, at_work: Machine, place: Place) -> None:
    at_work.report(said="Looking.", given=1, waiting=0)
    post(world, place, "0002", "/queue and then the docs")
    post(world, place, "0003", "now this")
    heard = at_work.report()
    assert [word.text for word in heard.steered] == ["now this"]
    progress = shown(world, place)[0]
    assert "↪ 1 message reached the agent while it works" in progress
    assert "⏳ 1 message for the agent once this answer is done" in progress
    end(at_work, ["0001", "0003"])
    assert [word.text for word in at_work.claim("c-2").words] == ["and then the docs"]


def test_queued_words_are_words_also_if_they_look_like_a_command(world: World, machine: Machine, place: Place) -> None:
    post(world, place, "0001", "/queue /stop that")
    assert [word.text for word in machine.start().words] == ["/stop that"]
    post(world, place, "0002", "/queue")
    assert "Send `/queue` with the words" in shown(world, place)[-1]


def test_where_nothing_is_edited_waiting_words_are_told_once(world: World, at_work: Machine, place: Place) -> None:
    world.platform.capabilities = _with(world, edits=False)
    for _ in range(2):
        at_work.report(said="Looking.", waiting=1)
        world.messages()
        world.wait(5)
    assert shown(world, place) == ["Your message waits until this answer is done."]
