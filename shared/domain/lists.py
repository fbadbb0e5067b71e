"""Numbered lists that a person chooses from: what a number or a button of the newest list at a place stands for."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.routes import Place

LISTED_FOR = 900_000
"""Milliseconds in which the entries of a list may be chosen."""
PAGE = 10
MOST = 50
"""Entries of a list."""


class EntryKind(StrEnum):
    """SESSION: one of this service. NATIVE: one of an agent on a machine. PROJECT: a directory there. MODEL: no machine."""

    SESSION = "session"
    NATIVE = "native"
    PROJECT = "project"
    MODEL = "model"


@dataclass(frozen=True)
class Entry:
    """One line of a list. `id` is a session's, or the runner's word for a session, or the label of a project."""

    kind: EntryKind
    id: str = ""
    runner_id: str = ""
    agent: str = ""
    title: str = ""
    note: str = ""


@dataclass(frozen=True)
class Listed:
    """The list that a command showed a user at a place; a newer one there replaces it."""

    id: str
    user_id: str
    place: Place
    created_at: int
    entries: Sequence[Entry] = ()

    def may_be_chosen(self, now: int) -> bool:
        return now < self.created_at + LISTED_FOR

    def entry(self, number: int) -> Entry | None:
        """The entry with this number, from 1 on."""
        return self.entries[number - 1] if 1 <= number <= len(self.entries) else None
