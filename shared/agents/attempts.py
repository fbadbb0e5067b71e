"""How a model is asked: again when it is busy, with less when it was too much, all of it before the deadline."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import TypeVar

from shared.agents.transcript.conversation import Conversation
from shared.agents.transcript.window import prepare
from shared.domain.messages import Message
from shared.errors import AgentFailed, AgentUnavailable
from shared.ports.clock import Clock
from shared.use_cases.backoff import backoff

T = TypeVar("T")

TRIES = 3
FIRST_WAIT = 0.5
LONGEST_WAIT = 20.0  # seconds; a longer one is the queue's business, not a paid function's
SHAPES = 6
OUT_OF_TIME = "The agent did not answer within the time of a turn."
TOO_LONG = (
    "This conversation is longer than the agent's model can take in, even with only its newest message. "
    "Send a shorter message, or ask whoever runs this service for a model with a larger window."
)
EMPTY = "The agent answered with nothing, twice. Say it in other words, or try again later."


class Busy(Exception):
    """It may well work in a moment, or after so many seconds."""

    def __init__(self, words: str, after: float | None = None) -> None:
        super().__init__(words)
        self.after = after


class TooLong(Exception):
    """The model's window is smaller than what it was given."""


class ToolsRefused(Exception):
    """The request was refused, perhaps for the tool calls in it; the words hold if there were none."""


class EmptyAnswer(Exception):
    """A success without a word."""


def ask_patiently(ask: Callable[[], T], *, deadline: int, clock: Clock, pause: Callable[[float], None]) -> T:
    """Ask up to three times while it is busy. Raises AgentUnavailable when that, or the time, is used up."""
    for left in reversed(range(TRIES)):
        if clock.now() >= deadline:
            raise AgentUnavailable(OUT_OF_TIME)
        try:
            return ask()
        except Busy as busy:
            wait = backoff(TRIES - left, first=FIRST_WAIT, longest=LONGEST_WAIT) if busy.after is None else busy.after
            if not left or wait > LONGEST_WAIT or clock.now() + wait * 1000 >= deadline:
                raise AgentUnavailable(str(busy), after=busy.after) from busy
            pause(wait)
    raise AgentUnavailable(OUT_OF_TIME)


def converse(
    ask: Callable[[Conversation], str],
    messages: Sequence[Message],
    *,
    note: str | None,
    window: int,
    deadline: int,
    clock: Clock,
    pause: Callable[[float], None],
) -> str:
    """The answer to a transcript, in the first shape that the model accepts.

    Too long: half of it. Refused with tool calls in it: the calls written out as words. Empty: once more.
    """
    calls_as_text, emptied = False, False
    for _ in range(SHAPES):
        given = prepare(messages, note=note, window=window, calls_as_text=calls_as_text)
        try:
            return ask_patiently(lambda: ask(given), deadline=deadline, clock=clock, pause=pause)  # noqa: B023 - called at once
        except TooLong as error:
            if sum(entry.messages for entry in given.entries) <= 1:
                raise AgentFailed(TOO_LONG) from error
            window = given.tokens // 2
        except ToolsRefused as error:
            if calls_as_text or not given.has_calls:
                raise AgentFailed(str(error)) from error
            calls_as_text = True
        except EmptyAnswer as error:
            if emptied:
                raise AgentFailed(EMPTY) from error
            emptied = True
    raise AgentFailed(TOO_LONG)


def seconds_to_wait(headers: Mapping[str, str], *, now: int) -> float | None:
    """What `retry-after` asks for (seconds, or a date against `now`), if it says anything readable."""
    value = headers.get("retry-after", "")
    with suppress(ValueError):
        if _NUMBER.fullmatch(headers.get("retry-after-ms", "")):
            return float(headers["retry-after-ms"]) / 1000
        if _NUMBER.fullmatch(value):
            return float(value)
        return max(0.0, parsedate_to_datetime(value).timestamp() - now / 1000)
    return None


_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?")
