"""Check what a platform answers: that each field which is read has its type."""

import re
from collections.abc import Mapping
from typing import Any, get_args

Shape = Any
"""None (not read); a type or a union of types; a pattern for a whole text; a list of one shape, that of its entries; a tuple
of shapes, one of which fits; or a mapping from fields to shapes, where a field whose name ends in `?` may be absent and
further fields are allowed."""

DEFAULT_RETRY_AFTER = 5.0  # for a rate limit that does not say how long
_LONGEST_RETRY_AFTER = 86_400.0


class Unreadable(Exception):
    """An answer that is not of its shape. The text quotes nothing of the answer: it may be the page of a proxy."""


def check(answer: Any, shape: Shape) -> None:
    """Raises Unreadable unless the answer is of this shape."""
    if not fits(answer, shape):
        raise Unreadable("The answer is not of the documented form")


def fits(answer: Any, shape: Shape) -> bool:
    """Whether the answer is of this shape."""
    match shape:
        case None:
            return True
        case re.Pattern():
            return isinstance(answer, str) and bool(shape.fullmatch(answer))
        case tuple():
            return any(fits(answer, one) for one in shape)
        case list():
            return isinstance(answer, list) and all(fits(entry, shape[0]) for entry in answer)
        case Mapping():
            return isinstance(answer, dict) and all(_has(answer, name, inner) for name, inner in shape.items())
        case _:
            return type(answer) in (get_args(shape) or (shape,))  # isinstance would take a bool for an int


def _has(answer: Mapping[str, Any], name: str, shape: Shape) -> bool:
    field = name.removesuffix("?")
    return fits(answer[field], shape) if field in answer else field != name


def retry_after(value: object) -> float:
    """The seconds that a rate limit asks for, as a number or a text; the default if it is unreadable."""
    try:
        seconds = float(value)  # type: ignore[arg-type]  # what it is not is caught
    except (TypeError, ValueError, OverflowError):
        return DEFAULT_RETRY_AFTER
    return seconds if 0 <= seconds <= _LONGEST_RETRY_AFTER else DEFAULT_RETRY_AFTER
