"""What has happened in a walk, in lines that a person can read."""

from collections.abc import Mapping

from shared.ports.queue import InboxEvent, Kickoff, Notice, Show, WakeUp
from shared.ports.tables import Check, Delete, Put, Update
from tests.support.fake_queue import NOW, ManualClock


class Trace:
    """Entries with their time. They are formatted only if a walk fails."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._entries: list[tuple[int, str, tuple[object, ...]]] = []

    def note(self, actor: str, *what: object) -> None:
        self._entries.append((self._clock.now() - NOW, actor, what))

    def lines(self) -> list[str]:
        """The time in seconds, the actor, its step."""
        return [f"{at / 1000:9.3f}  {actor:12} {' '.join(map(_shown, what))}" for at, actor, what in self._entries]


def _shown(what: object) -> str:
    match what:
        case Update():
            return f"update {_key(what.key)} {{{', '.join([*what.set, *what.first, *what.add])}}}"
        case Put() | Delete() | Check():
            return f"{type(what).__name__.lower()} {_key(what.key)}"
        case InboxEvent() | Notice():
            return f"{type(what).__name__} {what.event_id}"
        case WakeUp() | Kickoff() | Show():
            return f"{type(what).__name__} {what.place.route}"
        case Mapping():
            return _key(what)
        case list() | tuple():
            return " + ".join(map(_shown, what))
    return str(what)


def _key(key: Mapping[str, object]) -> str:
    return "/".join(map(str, key.values()))
