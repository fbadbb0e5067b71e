"""JSON that knows on which line it broke, and on which line each element of an array begins."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

_SPACE = re.compile(r"[ \t\r\n]*")


class NotJson(ValueError):
    """The text is not what it should be, from this line on."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_constant(text)


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)


def line_of(text: str, offset: int) -> int:
    """The line of an offset, counted from 1; leading white space belongs to the line that follows it."""
    return text.count("\n", 0, _skip(text, offset)) + 1


def parse(text: str, *, first_line: int = 1) -> Any:
    """The one JSON value in the text. Raises NotJson."""
    value, end = _decode(text, 0, first_line)
    if end != len(text):
        raise NotJson("something follows after the JSON value", first_line + text.count("\n", 0, end))
    return value


def elements(text: str, *, key: str | None) -> Iterator[tuple[int, Any]]:
    """(line, value) of each element of the array that the text is, or that it has under `key`. Raises NotJson."""
    parse(text)
    at = _skip(text, 0) if key is None else _find(text, key)
    at = _skip(text, at + 1)
    line, counted = 1, 0
    while text[at] != "]":
        line, counted = line + text.count("\n", counted, at), at
        value, at = _decode(text, at, 1)
        yield line, value
        if text[at] == ",":
            at = _skip(text, at + 1)


def _find(text: str, key: str) -> int:
    """Where the value of the outermost object's last such key begins; the text is known to be valid."""
    at, found = _skip(text, _skip(text, 0) + 1), -1
    while text[at] != "}":
        name, at = _decode(text, at, 1)
        at = _skip(text, at + 1)
        if name == key:
            found = at
        _, at = _decode(text, at, 1)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _decode(text: str, at: int, first_line: int) -> tuple[Any, int]:
    try:
        value, end = _DECODER.raw_decode(text, _skip(text, at))
    except json.JSONDecodeError as error:
        raise NotJson(f"not JSON ({error.msg[:1].lower()}{error.msg[1:]})", first_line + error.lineno - 1) from error
    except RecursionError as error:
        raise NotJson("nested too deeply", first_line + line_of(text, at) - 1) from error
    except ValueError as error:
        raise NotJson(f"not JSON ({error})", first_line + line_of(text, at) - 1) from error
    return value, _skip(text, end)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
