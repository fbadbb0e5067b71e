"""The rehearsal agent reports what it was given, and fails on request."""

import re

import pytest

from shared.agents.rehearsal.agent import RehearsalAgent
from shared.domain.messages import Message
from shared.errors import AgentFailed, AgentUnavailable
from tests.contracts.agent.contract import (
    KICKOFF,
    HurriedClock,
    assistant,
    long_transcript,
    settings,
    user,
)
from tests.support.secrets import FakeSecrets


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


def reply(
    clock: HurriedClock, messages: list[Message], *, seconds: float = 0, note: str | None = None, time: int = 60_000
) -> str:
    agent = RehearsalAgent(settings(rehearsal_seconds=seconds), FakeSecrets(), clock)
    return agent.reply(clock.turn(*messages, note=note, within=time))


def test_the_kickoff_is_confirmed_with_counts_and_last_message(clock: HurriedClock) -> None:
    said = reply(clock, [*long_transcript(40), KICKOFF])
    assert "40 messages (1 system, 10 user, 19 assistant, 10 tool)" in said
    assert "“the last answer”" in said
    assert "rehearsal agent" in said
    assert len(said) < 400


def test_the_kickoff_of_an_empty_session_counts_nothing(clock: HurriedClock) -> None:
    assert "0 messages" in reply(clock, [KICKOFF])


def test_a_message_is_answered_with_its_text_and_the_count(clock: HurriedClock) -> None:
    said = reply(clock, [user("hi"), assistant("yes?"), user("what is  `1+1`?")])
    assert "> what is '1+1'?" in said
    assert "3 messages (2 user, 1 assistant)" in said


def test_several_messages_of_one_turn_are_all_answered_in_order(clock: HurriedClock) -> None:
    said = reply(clock, [user("old"), assistant("yes?"), *(user(f"message {n}") for n in range(25))])
    assert re.findall(r"> message (\d+)", said) == [str(n) for n in range(25)]
    assert "old" not in said


def test_a_long_message_is_quoted_in_short(clock: HurriedClock) -> None:
    assert len(reply(clock, [user("word " * 5_000)])) < 500


def test_a_note_is_noticed_and_not_repeated(clock: HurriedClock) -> None:
    said = reply(clock, [user("hi")], note="the last turn was killed")
    assert "note" in said
    assert "killed" not in said


def test_the_same_messages_get_the_same_answer(clock: HurriedClock) -> None:
    messages = [*long_transcript(40), KICKOFF]
    assert reply(clock, messages) == reply(clock, messages)


def test_a_long_answer_leaves_no_fence_open(clock: HurriedClock) -> None:
    said = reply(clock, [user("Please rehearse: long")])
    assert len(said) == 20_000
    assert "| --- |" in said
    assert "👨‍👩‍👧‍👦" in said
    assert len(re.findall(r"^````", said, re.MULTILINE)) % 2 == 0
    assert len(re.findall(r"^ *```(?!`)", said, re.MULTILINE)) % 2 == 0
    parts = [int(number) for number in re.findall(r"^## Part (\d+)", said, re.MULTILINE)]
    assert parts == list(range(1, len(parts) + 1))
    assert said.endswith("End of the long rehearsal. 🏁")


def test_it_takes_its_time(clock: HurriedClock) -> None:
    reply(clock, [user("hi")], seconds=3)
    assert clock.pauses == [3]


def test_it_takes_the_time_that_it_is_asked_to(clock: HurriedClock) -> None:
    assert "rehearse: slow 1.5" in reply(clock, [user("rehearse: slow 1.5")], seconds=3)
    assert clock.pauses == [1.5]


def test_a_long_answer_is_said_in_pieces_to_one_who_listens(clock: HurriedClock) -> None:
    agent = RehearsalAgent(settings(rehearsal_seconds=6), FakeSecrets(), clock)
    heard: list[str] = []
    said = agent.reply(clock.turn(progress=heard.append))
    assert clock.pauses == [1.0] * 6
    assert [len(words) for words in heard] == sorted({len(words) for words in heard})
    assert len(heard) == 6
    assert all(said.startswith(words) for words in heard)
    assert agent.reply(clock.turn()) == said


def test_a_short_one_is_said_at_once(clock: HurriedClock) -> None:
    agent = RehearsalAgent(settings(rehearsal_seconds=3), FakeSecrets(), clock)
    heard: list[str] = []
    agent.reply(clock.turn(progress=heard.append))
    assert (clock.pauses, heard) == ([3], [])


def test_it_stops_at_the_deadline_and_is_worth_another_try(clock: HurriedClock) -> None:
    with pytest.raises(AgentUnavailable, match="ran out"):
        reply(clock, [user("hi")], seconds=30, time=2_000)
    assert sum(clock.pauses) <= 2.0


@pytest.mark.parametrize("words", ["rehearse: fail", "Please REHEARSE:fail now"])
def test_it_fails_when_asked_to(clock: HurriedClock, words: str) -> None:
    with pytest.raises(AgentFailed):
        reply(clock, [user(words)])


def test_it_is_unavailable_when_asked_to(clock: HurriedClock) -> None:
    with pytest.raises(AgentUnavailable) as caught:
        reply(clock, [user("rehearse: unavailable 5")])
    assert caught.value.after == 5.0


def test_an_old_command_is_not_obeyed_again(clock: HurriedClock) -> None:
    assert reply(clock, [user("rehearse: fail"), assistant("I could not answer"), user("and now?")])
    assert reply(clock, [user("rehearse: fail"), KICKOFF])
