"""Pieces of an integration: files of its own, and entries in settings that belong to the agent."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handoff_cli.errors import UsageProblem
from handoff_cli.inside.setup.json_edit import add, remove
from handoff_cli.inside.setup.json_tree import NotJson

MARK = "Written by `handoff install"
_OURS = re.compile(r"handoff(?:_cli)?['\"]? hook [a-z-]+(?: --notify(?: (?P<platform>[\w-]+))?)?$")


@dataclass(frozen=True)
class OwnFile:
    """A file that Handoff writes as a whole. Its text has the mark."""

    path: Path
    text: str

    def wanted(self, before: bytes | None) -> bytes:
        """The content to write. Raises UsageProblem if another program's file is in the way."""
        if before is not None and MARK.encode() not in before:
            raise UsageProblem(
                f"{self.path} exists and is not Handoff's. Rename or remove it, then try again. Nothing was changed."
            )
        return self.text.encode()

    def removed(self, before: bytes) -> bytes | None:
        """Nothing is left of it, if it is ours."""
        return None if MARK.encode() in before else before


@dataclass(frozen=True)
class Entry:
    """An entry in a list of a JSON file, by the keys that lead to the list. None: no entry of Handoff is to be there."""

    path: Path
    keys: tuple[str, ...]
    entry: Any

    def wanted(self, before: bytes | None) -> bytes | None:
        """The content with this entry, and without older ones of Handoff. Raises UsageProblem."""
        if self.entry is None:
            return None if before is None else self.removed(before)
        text = self._text(before or b"")
        try:
            if self._present(text):
                return before or b""
            return add(remove(text, self.keys, is_ours) if text.strip() else text, self.keys, self.entry).encode()
        except TypeError as error:
            raise UsageProblem(f"{self.path}: {error}, so no hook can be added. {self._by_hand()}") from error
        except NotJson as error:
            raise UsageProblem(f"{self.path}: {error}. Fix it, then try again. {self._by_hand()}") from error

    def removed(self, before: bytes) -> bytes | None:
        """The content without entries of Handoff. Raises UsageProblem."""
        try:
            text = self._text(before)
            return remove(text, self.keys, is_ours).encode() if text.strip() else before
        except NotJson as error:
            raise UsageProblem(f"{self.path}: {error}. Fix it, then try again. Nothing was changed.") from error

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise UsageProblem(f"{self.path} is not UTF-8 text. Nothing was changed.") from error

    def _present(self, text: str) -> bool:
        """Is this very entry there, and no other one of Handoff?"""
        return ours(text, self.keys) == [self.entry]

    def _by_hand(self) -> str:
        entry = json.dumps(self.entry, ensure_ascii=False)
        return f"Nothing was changed. By hand: add {entry} to {'.'.join(self.keys)}."


Piece = OwnFile | Entry


def is_ours(entry: Any) -> bool:
    """Does this entry of a list of hooks call `handoff hook`?"""
    commands = _commands(entry)
    return bool(commands) and all(isinstance(text, str) and _OURS.search(text) for text in commands)


def ours(text: str, keys: tuple[str, ...]) -> list[Any]:
    """The entries of Handoff in the list at these keys. Raises NotJson."""
    found: list[Any] = []

    def note(value: Any) -> bool:
        if is_ours(value):
            found.append(value)
        return False

    if text.strip():
        remove(text, keys, note)
    return found


def notified_platform(entry: Any) -> str:
    """The platform to which an entry of Handoff posts notices; empty if it names none."""
    matches = (_OURS.search(text) for text in _commands(entry) if isinstance(text, str))
    return next((found["platform"] or "" for found in matches if found), "")


def _commands(entry: Any) -> list[Any]:
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    return [hook.get("command") for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) else []
