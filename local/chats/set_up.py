"""The conversation of `handoff setup`: show the steps, take the secrets hidden, check each, store all, connect."""

import getpass
import secrets as random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from local.chats import CHATS
from local.chats.spec import LocalChat
from shared.errors import PlatformError, Rejected
from shared.platforms.set_up import AskedSecret, SetUp, Way, guide_of

TRIES = 3
Store = Callable[[Mapping[str, str]], None]


class SetUpFailed(Exception):
    """The set-up ended. The text says what holds and what to do, without any secret."""


def chat_named(name: str) -> LocalChat:
    """The platform with this name. Raises SetUpFailed."""
    known = {chat.name: chat for chat in CHATS if chat.spec.is_supported}
    if name not in known:
        raise SetUpFailed(f"There is no platform {name!r} to set up. Choose one of: {', '.join(known)}.")
    return known[name]


def set_up_of(chat: LocalChat) -> SetUp:
    """The platform's own set-up, or one that only asks for its secrets."""
    return guide_of(chat.spec)


@dataclass(frozen=True)
class Person:
    """The person at the terminal. Secrets are typed hidden, or read from stdin, one in a line."""

    may_ask: bool = field(default_factory=sys.stdin.isatty)

    def say(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def secret(self, asked: AskedSecret) -> str:
        """Raises SetUpFailed at the end of the input."""
        try:
            value = self._typed(asked) if self.may_ask else sys.stdin.readline()
        except EOFError:
            value = ""
        if not value:
            raise SetUpFailed(f"No {asked.prompt} was given. Nothing was stored.")
        return value.strip()

    def _typed(self, asked: AskedSecret) -> str:
        if asked.is_hidden:
            return getpass.getpass(f"{asked.prompt} (it is not shown): ")
        sys.stdout.write(f"{asked.prompt}: ")
        sys.stdout.flush()
        return sys.stdin.readline()

    def line(self, question: str) -> str:
        """What is typed, empty at the end of the input. Only where `may_ask`."""
        sys.stdout.write(question)
        sys.stdout.flush()
        return sys.stdin.readline().strip()

    def hidden(self, question: str) -> str:
        """The same for a secret."""
        try:
            return getpass.getpass(question).strip()
        except EOFError:
            return ""

    def agrees(self, question: str) -> bool:
        if not self.may_ask:
            return False
        return self.line(f"{question} [y/N] ").lower() in ("y", "yes")


def set_up(chat: LocalChat, way: Way, store: Store, known: Mapping[str, str], *, replace: bool, person: Person) -> None:
    """Raises SetUpFailed. Nothing is stored before the platform has accepted every secret. May be repeated."""
    guide = set_up_of(chat)
    title = chat.spec.title
    person.say(f"Set up {title}:\n")
    for number, step in enumerate(guide.steps(way), 1):
        first, *more = step.split("\n")
        person.say("\n".join([f"  {number}. {first}", *(f"     {line}" for line in more)]))
    person.say("")
    given: dict[str, str] = {}
    for asked in guide.asked(way):
        given |= _accepted(guide, asked, given, way, person)
    given |= {name: known.get(name) or random.token_hex(32) for name in guide.generated(way)}
    try:
        _free(guide, given, way, replace=replace, person=person)
        store(given)
        said = guide.connect(given, way)
    except PlatformError as error:
        raise SetUpFailed(_explained(title, error, "Run this again: it can be repeated.")) from error
    for line in said:
        person.say(f"\n{line}")


def _accepted(
    guide: SetUp, asked: AskedSecret, given: Mapping[str, str], way: Way, person: Person
) -> Mapping[str, str]:
    """The secret and what follows from it, once the platform accepts it. A script has one try."""
    for left in reversed(range(TRIES if person.may_ask else 1)):
        value = person.secret(asked)
        if not asked.fits(value):
            problem = f"This is not a {asked.prompt}" + (f": it looks like {asked.looks}" if asked.looks else "")
        else:
            try:
                checked = guide.check(asked.name, {**given, asked.name: value}, way)
            except PlatformError as error:
                problem = str(error).rstrip(".") if isinstance(error, Rejected) else "The platform did not answer"
            else:
                if checked.said:
                    person.say(f"  ✓ {checked.said}")
                return {asked.name: value, **checked.secrets}
        if not left:
            raise SetUpFailed(f"{problem}. Nothing was stored.")
        person.say(f"  ✗ {problem}. Try again, or stop with Ctrl-C.")
    raise AssertionError("the last try returns or raises")


def _free(guide: SetUp, given: Mapping[str, str], way: Way, *, replace: bool, person: Person) -> None:
    """Make sure that no other service loses the bot's messages unasked."""
    other = guide.used_by(given, way)
    if (
        other
        and not replace
        and not person.agrees(f"Messages of this bot go to {other} now. End that, and use it here?")
    ):
        raise SetUpFailed(
            f"The bot's messages go to {other}. Nothing was stored or changed. Use another bot, or add --replace."
        )


def _explained(title: str, error: PlatformError, then: str) -> str:
    why = str(error).rstrip(".") if isinstance(error, Rejected) else f"{title} did not answer"
    return f"{why}. {then}"
