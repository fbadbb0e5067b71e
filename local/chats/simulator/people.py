"""The simulated people and the bot; their ids differ by platform."""

from collections.abc import Mapping
from dataclasses import dataclass

BOT = "bot"
_NAMES = {
    "owner": ("Olivia", "Owner", "olivia"),
    "stranger": ("Sam", "Stranger", "sam"),
    BOT: ("Handoff", "", "handoff_bot"),
}


@dataclass(frozen=True)
class Person:
    """A person on one platform: `key` identifies them in the simulator, `id` on the platform."""

    key: str
    id: str
    first_name: str
    last_name: str
    handle: str

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()


def people_on(ids: Mapping[str, str]) -> tuple[Person, ...]:
    """The people of a platform, from the ids that it gives them."""
    return tuple(Person(key, identity, *_NAMES.get(key, (key.title(), "", key))) for key, identity in ids.items())


def names() -> dict[str, str]:
    """The full name of each person, by key."""
    return {key: f"{first} {last}".strip() for key, (first, last, _) in _NAMES.items()}
