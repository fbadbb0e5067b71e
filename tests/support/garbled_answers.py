"""Answers that are not what a server meant: pages of a proxy, half of an answer, JSON of another type."""

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.servers import DROP, Response

MARK = "zebra-quagga"
"""A word of every page and text below: it must reach neither people nor the log."""
PAGE = f"<!DOCTYPE html><html><head><title>{MARK}</title></head><body><h1>{MARK}</h1></body></html>".encode()
STATUSES = (200, 403, 502)
_TYPES = {"list": [1, 2], "texts": [MARK], "number": 42, "text": MARK, "null": None, "true": True, "object": {}}

Answers = Mapping[str, Response]


def garbled(whole: bytes) -> Answers:
    """By name: every way in which an answer with the body `whole` may be lost or replaced on its way."""
    answers = {
        "no answer": DROP,
        "a broken status line": Response(raw=f"{MARK} 200\r\n\r\n".encode()),
        "half a header": Response(raw=b"HTTP/1.1 200 OK\r\nContent-Ty"),
        "half a body": Response(200, whole[: len(whole) // 2]),
    }
    for status in STATUSES:
        html = {"content-type": "text/html; charset=utf-8"}
        answers[f"{status}: a page"] = Response(status, PAGE, html)
        answers[f"{status}: a page that claims to be JSON"] = Response(status, PAGE)
        answers[f"{status}: no body"] = Response(status)
        answers[f"{status}: bytes"] = Response(status, b"\xff\xfe\x00")
        answers[f"{status}: cut off"] = Response(status, whole[:-1] or b"{", declared=len(whole) + 100)
        for name, value in _TYPES.items():
            answers[f"{status}: {name}"] = Response(status, json.dumps(value).encode())
    return answers


def odd_fields(whole: bytes) -> Answers:
    """By name: the JSON answer `whole` with one field of another type."""
    return {
        f"{_name(path)} = {json.dumps(odd)}": _with(whole, path, odd)
        for path, value in _fields(_parsed(whole))
        for odd in _others(value)
    }


def lacking_fields(whole: bytes) -> Answers:
    """By name: the JSON answer `whole` without one field."""
    return {f"no {_name(path)}": _with(whole, path) for path, _ in _fields(_parsed(whole)) if isinstance(path[-1], str)}


Path = tuple[str | int, ...]
_REMOVED = object()


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _fields(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """All fields at any depth; of a list only the first entry."""
    if isinstance(value, dict):
        inner: list[tuple[str | int, Any]] = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value[:1]))
    else:
        return
    for key, field in inner:
        yield (*path, key), field
        yield from _fields(field, (*path, key))


def _others(value: Any) -> list[Any]:
    """Values of other types. What is null may also be a text, so it becomes no text."""
    scalar = True if type(value) is int else -7
    container: Any = {MARK: MARK} if type(value) is list else [MARK]
    return [odd for odd in (None, scalar, container) if type(odd) is not type(value)]


def _with(whole: bytes, path: Path, value: Any = _REMOVED) -> Response:
    changed = copy.deepcopy(_parsed(whole))
    at = changed
    for key in path[:-1]:
        at = at[key]
    if value is _REMOVED:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return Response(200, json.dumps(changed).encode())


def _name(path: Path) -> str:
    return ".".join(map(str, path))
