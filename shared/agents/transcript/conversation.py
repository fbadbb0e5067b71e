"""A conversation in the shape that every model accepts: a system text, then user and assistant alternating."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from shared.domain.files import StoredFile


@dataclass(frozen=True)
class Call:
    """One tool call with its result, so that the two stay together."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    result: str

    @property
    def arguments_json(self) -> str:
        """The arguments as JSON text."""
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class Entry:
    """A text and the tool calls made with it. `messages`: how many messages of the transcript it stands for."""

    role: Literal["user", "assistant"]
    text: str
    calls: tuple[Call, ...] = ()
    messages: int = 1
    files: tuple[StoredFile, ...] = ()


@dataclass(frozen=True)
class Conversation:
    """The input of a model: the session's `system` text, our `note`, and the entries.

    `entries` begin and end with the user (or with a tool's result) and alternate; an assistant's entry with calls may
    follow another. `left_out` messages did not fit; `tokens` estimates the size of the whole.
    """

    system: str
    note: str
    entries: tuple[Entry, ...]
    left_out: int
    tokens: int

    @property
    def instructions(self) -> str:
        """System text and note as one, for models that accept one system message at the start."""
        return "\n\n".join(filter(str.strip, (self.system, self.note)))

    @property
    def has_files(self) -> bool:
        """Whether any entry has files."""
        return any(entry.files for entry in self.entries)

    @property
    def without_files(self) -> "Conversation":
        """The same, with only the names of files, which are in the texts."""
        return replace(self, entries=tuple(replace(entry, files=()) for entry in self.entries))

    @property
    def has_calls(self) -> bool:
        """Whether any entry has tool calls."""
        return any(entry.calls for entry in self.entries)
