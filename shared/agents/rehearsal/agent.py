"""The built-in agent: no key, no network, no model. It reports what it was given, and fails on request."""

import math
import re
from collections.abc import Sequence
from itertools import takewhile

from shared.agents.rehearsal.long import LONG_ANSWER
from shared.domain.messages import Message, count_by_role, text_of
from shared.errors import AgentCancelled, AgentFailed, AgentUnavailable
from shared.ports.agents import Listener, TurnInput
from shared.ports.clock import Clock
from shared.ports.secrets import Secrets
from shared.settings import Settings

SPEAKS_FROM = 5.0
"""Seconds from which on an answer is said in pieces: a shorter one is there before its pieces would be shown."""
_QUOTE = 160
_COMMAND = re.compile(r"rehearse:\s*(long|fail|unavailable|slow)(?:\s+(\d+(?:\.\d+)?))?", re.IGNORECASE)


class RehearsalAgent:
    """Gives the same answer to the same messages, after `rehearsal_seconds` or as long as the user asks for.

    Long `rehearsal_seconds` are spent speaking, so that progress can be seen without a model.

    The user's message may hold `rehearse: long` (a 20,000-character answer), `rehearse: slow 3` (seconds),
    `rehearse: fail` (AgentFailed), `rehearse: unavailable [5]` (AgentUnavailable, after so many seconds).
    """

    def __init__(self, settings: Settings, secrets: Secrets, clock: Clock) -> None:
        del secrets  # all agents take the same arguments; this one needs no key
        self._seconds = settings.rehearsal_seconds
        self._clock = clock

    def reply(self, turn: TurnInput) -> str:
        """Report how many messages came, by role, and the last one."""
        asked = _latest(turn.messages)
        command, number = _command(" ".join(text_of(message) for message in asked))
        is_kickoff = bool(asked and asked[-1].get("internal"))
        answer = _confirmation(turn.messages) if is_kickoff else _answer(turn.messages, asked, turn.note)
        if command == "slow" and number is not None:
            self._work(number, turn)
        elif turn.progress and not command and self._seconds >= SPEAKS_FROM:
            self._speak(answer, turn.progress, turn)
        else:
            self._work(self._seconds, turn)
        if command == "fail":
            raise AgentFailed("The rehearsal agent was asked to fail. Ask it anything else and it answers.")
        if command == "unavailable":
            raise AgentUnavailable("The rehearsal agent was asked to be unavailable.", after=number)
        if command == "long":
            return LONG_ANSWER
        return answer

    def _speak(self, answer: str, progress: Listener, turn: TurnInput) -> None:
        """Take `rehearsal_seconds`, and say more of the answer each second."""
        said = 0.0
        while said < self._seconds:
            self._work(min(1.0, self._seconds - said), turn)
            said += 1.0
            progress(answer[: math.ceil(len(answer) * min(1.0, said / self._seconds))])

    def _work(self, seconds: float, turn: TurnInput) -> None:
        left = max(0.0, (turn.deadline - self._clock.now()) / 1000)
        if turn.cancellation.wait(min(seconds, left)):
            raise AgentCancelled
        if seconds > left:
            raise AgentUnavailable("The rehearsal agent was asked to be slow, and the turn's time ran out.")


def _latest(messages: Sequence[Message]) -> list[Message]:
    """The messages that this turn must answer: the kickoff, or all since the agent's last answer."""
    if messages and messages[-1].get("internal"):
        return [messages[-1]]
    return list(takewhile(lambda message: message["role"] == "user", reversed(messages)))[::-1]


def _command(text: str) -> tuple[str | None, float | None]:
    found = _COMMAND.search(text)
    return (found[1].lower(), float(found[2]) if found[2] else None) if found else (None, None)


def _confirmation(messages: Sequence[Message]) -> str:
    before = messages[:-1]
    if not before:
        return f"Confirmed: this session arrived with 0 messages. {_WHO} Go on here whenever you like."
    return (
        f"Confirmed: this session arrived whole, with {_counted(before)}. {_last(before)}\n\n"
        f"{_WHO} Go on here whenever you like."
    )


def _answer(messages: Sequence[Message], asked: Sequence[Message], note: str | None) -> str:
    noted = " and a note about the last turn" if note else ""
    said = "\n>\n".join(f"> {_quote(message)}" for message in asked)
    words = f"You said:\n\n{said}" if asked else _last(messages)
    return f"{words}\n\nI was given {_counted(messages)}{noted}. {_WHO}"


def _counted(messages: Sequence[Message]) -> str:
    roles = ", ".join(f"{count} {role}" for role, count in count_by_role(messages).items())
    return f"{len(messages)} message{'' if len(messages) == 1 else 's'} ({roles})" if messages else "0 messages"


def _last(messages: Sequence[Message]) -> str:
    return (
        f"The last one, from {messages[-1]['role']}: “{_quote(messages[-1])}”" if messages else "Nothing was said yet."
    )


def _quote(message: Message) -> str:
    """The beginning of a message on one line; without backticks, so that a cut leaves no code span open."""
    line = " ".join(text_of(message).replace("`", "'").split()) or "(no words)"
    return line if len(line) <= _QUOTE else line[:_QUOTE].rstrip() + "…"


_WHO = "I am the rehearsal agent: no model behind me, I only show what reached me."
