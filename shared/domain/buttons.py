"""Ids of buttons: `kind.field.field…`. An id names what a press sets, never a change of what is there."""

import re
from dataclasses import dataclass

_ID = re.compile(r"([a-z])((?:\.[A-Za-z0-9_-]{1,40}){1,8})")


@dataclass(frozen=True)
class ButtonId:
    """`kind` chooses what handles the press (`KINDS` in shared/use_cases/presses.py), `fields` are for that."""

    kind: str
    fields: tuple[str, ...]


def button_id(kind: str, *fields: object) -> str:
    """The id of a button; `Button` refuses one that is too long for a platform."""
    return ".".join((kind, *map(str, fields)))


def read_button(text: str) -> ButtonId | None:
    """None for an id of another form: another version has made it, or another program."""
    found = _ID.fullmatch(text)
    return ButtonId(found[1], tuple(found[2][1:].split("."))) if found else None


def number_in(field: str, *, most: int = 999_999) -> int | None:
    """The number that a field holds."""
    return int(field) if re.fullmatch(r"[0-9]{1,6}", field) and int(field) <= most else None
