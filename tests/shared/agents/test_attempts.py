"""Retries: how many, after which pauses, and in which shape."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from shared.agents.attempts import EmptyAnswer, ProviderBusy, TooLong, ToolsRefused, converse, seconds_to_wait
from shared.agents.transcript.conversation import Conversation
from shared.domain.messages import Message
from shared.errors import AgentFailed, AgentUnavailable
from tests.contracts.agent.contract import HurriedClock, long_transcript, tool_use, user


class Model:
    """Raises what it is told to, one after the other, then answers."""

    def __init__(self, *troubles: Exception) -> None:
        self.troubles = list(troubles)
        self.given: list[Conversation] = []

    def __call__(self, given: Conversation) -> str:
        self.given.append(given)
        if self.troubles:
            raise self.troubles.pop(0)
        return "answer"


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def ask(clock: HurriedClock) -> Callable[..., str]:
    def ask(model: Model, messages: list[Message] | None = None, *, seconds: float = 60) -> str:
        deadline = clock.now() + int(seconds * 1000)
        turn = clock.turn(*messages or (), deadline=deadline)
        return converse(model, turn, window=0, clock=clock)

    return ask


def test_waits_grow_unless_one_is_asked_for(ask: Callable[..., str], clock: HurriedClock) -> None:
    assert ask(Model(ProviderBusy("a"), ProviderBusy("b"))) == "answer"
    assert ask(Model(ProviderBusy("a", after=3), ProviderBusy("b", after=0))) == "answer"
    assert clock.pauses == [0.5, 1.0, 3, 0]


def test_the_words_of_the_last_trouble_are_the_ones_told(ask: Callable[..., str]) -> None:
    with pytest.raises(AgentUnavailable, match="c") as caught:
        ask(Model(ProviderBusy("a"), ProviderBusy("b"), ProviderBusy("c", after=2)))
    assert caught.value.after == 2


def test_no_wait_goes_past_the_deadline(ask: Callable[..., str], clock: HurriedClock) -> None:
    with pytest.raises(AgentUnavailable):
        ask(Model(ProviderBusy("a")), seconds=0.4)
    assert clock.pauses == []


def test_too_long_is_halved_until_it_fits(ask: Callable[..., str]) -> None:
    model = Model(TooLong(), TooLong(), TooLong())
    assert ask(model, long_transcript(400)) == "answer"
    sizes = [given.tokens for given in model.given]
    assert all(after <= before // 2 for before, after in pairwise(sizes))
    assert model.given[-1].entries[-2].text == "the last answer"


def test_too_long_for_ever_ends(ask: Callable[..., str]) -> None:
    model = Model(*(TooLong() for _ in range(99)))
    with pytest.raises(AgentFailed, match="longer than"):
        ask(model, long_transcript(400))
    assert len(model.given) <= 10


def test_calls_are_written_out_once(ask: Callable[..., str]) -> None:
    messages = [user("go"), *tool_use("search", a="found"), user("and?")]
    model = Model(ToolsRefused("no"))
    assert ask(model, messages) == "answer"
    assert [given.has_calls for given in model.given] == [True, False]
    with pytest.raises(AgentFailed, match="still no"):
        ask(Model(ToolsRefused("no"), ToolsRefused("still no")), messages)


def test_shapes_add_up(ask: Callable[..., str]) -> None:
    model = Model(ToolsRefused("no"), TooLong(), ProviderBusy("later"), EmptyAnswer())
    assert ask(model, long_transcript(400)) == "answer"
    assert not model.given[-1].has_calls
    assert model.given[-1].left_out


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 50.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "nan"}, None),
        ({"retry-after-ms": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert seconds_to_wait(headers, now=10_000) == seconds
