"""Ask a model until it answers or the turn's deadline: retry when it is busy, shorten what is too long."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import TypeVar

from shared.agents.transcript.conversation import Conversation
from shared.agents.transcript.window import prepare
from shared.backoff import backoff
from shared.errors import AgentCancelled, AgentFailed, AgentUnavailable
from shared.ports.agents import TurnInput
from shared.ports.clock import Clock
from shared.ports.secrets import Secrets
from shared.settings import Settings

T = TypeVar("T")

TRIES = 3
FIRST_WAIT = 0.5
LONGEST_WAIT = 20.0  # seconds; a longer wait is left to the queue, because a waiting function costs money
SHAPES = 6
OUT_OF_TIME = "The agent did not answer within the time of a turn."
TOO_LONG = (
    "This conversation is longer than the agent's model accepts, even with only its newest message. "
    "Send a shorter message, or ask the operator for a model with a larger window."
)
EMPTY = "The agent sent an empty answer twice. Rephrase your message, or try again later."


class ProviderBusy(Exception):
    """A temporary failure: retry, after `after` seconds if the provider said so."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class TooLong(Exception):
    """The conversation does not fit the model's window."""


class ToolsRefused(Exception):
    """The request was refused, perhaps because of its tool calls or files; the message applies if there were none."""


class EmptyAnswer(Exception):
    """A success without text."""


class ServerAgent(ABC):
    """An agent that asks a server. Opens nothing before the first turn."""

    def __init__(self, settings: Settings, secrets: Secrets, clock: Clock) -> None:
        self._settings = settings
        self._secrets = secrets
        self._clock = clock

    def reply(self, turn: TurnInput) -> str:
        """Raises AgentUnavailable, AgentFailed or AgentCancelled, never with the key in the text."""
        return converse(self.asking(turn), turn, window=self._settings.agent_window, clock=self._clock)

    @abstractmethod
    def asking(self, turn: TurnInput) -> Callable[[Conversation], str]:
        """How to ask in this turn, once: it may raise the exceptions above. Raises AgentFailed if a setting is missing."""


def converse(ask: Callable[[Conversation], str], turn: TurnInput, *, window: int, clock: Clock) -> str:
    """The answer to a transcript, in the first shape that the model accepts. Raises as `Agent.reply` does.

    Too long: send half of it. Refused with tool calls in it: send the calls as text. Refused with files: send their names
    only, because one that is damaged would end every turn of its session. Empty answer: ask once more.
    """
    calls_as_text, without_files, was_empty = False, turn.read_file is None, False
    for _ in range(SHAPES):
        given = prepare(turn.messages, note=turn.note, window=window, calls_as_text=calls_as_text)
        if without_files:
            given = given.without_files
        try:
            return _retry_busy(lambda: ask(given), turn, clock)  # noqa: B023  # called at once
        except TooLong as error:
            if sum(entry.messages for entry in given.entries) <= 1:
                raise AgentFailed(TOO_LONG) from error
            window = given.tokens // 2
        except ToolsRefused as error:
            if not calls_as_text and given.has_calls:
                calls_as_text = True
            elif given.has_files:
                without_files = True
            else:
                raise AgentFailed(str(error)) from error
        except EmptyAnswer as error:
            if was_empty:
                raise AgentFailed(EMPTY) from error
            was_empty = True
    raise AgentFailed(TOO_LONG)


def _retry_busy(ask: Callable[[], T], turn: TurnInput, clock: Clock) -> T:
    """Ask up to `TRIES` times while the provider is busy.

    Raises AgentUnavailable when tries or time are used up, AgentCancelled when cancelled.
    """
    for tries in range(1, TRIES + 1):
        turn.cancellation.check()
        if clock.now() >= turn.deadline:
            break
        try:
            return ask()
        except ProviderBusy as busy:
            wait = backoff(tries, first=FIRST_WAIT, longest=LONGEST_WAIT) if busy.after is None else busy.after
            if tries == TRIES or wait > LONGEST_WAIT or clock.now() + wait * 1000 >= turn.deadline:
                raise AgentUnavailable(str(busy), after=busy.after) from busy
            if turn.cancellation.wait(wait):
                raise AgentCancelled from busy
    raise AgentUnavailable(OUT_OF_TIME)


def seconds_to_wait(headers: Mapping[str, str], *, now: int) -> float | None:
    """The seconds that `retry-after` asks for (a number, or a date compared with `now`), or None if unreadable."""
    value = headers.get("retry-after", "")
    with suppress(ValueError):
        if _NUMBER.fullmatch(headers.get("retry-after-ms", "")):
            return float(headers["retry-after-ms"]) / 1000
        if _NUMBER.fullmatch(value):
            return float(value)
        return max(0.0, parsedate_to_datetime(value).timestamp() - now / 1000)
    return None


_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?")
