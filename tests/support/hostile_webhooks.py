"""Webhooks that are signed correctly and hold what a platform would not send, drawn from a seeded random generator."""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = Any
Place = tuple[Any, Any]
"""A container and the key or index of one value in it."""
SAID = "and the tests?"
"""The text of the owner in the samples."""
DEEPEST = 5000
LARGEST = 1_000_000
"""Below the limit of every platform: a larger body is answered with 413."""


class Raw(str):
    """A text that goes into the JSON as it is."""

    __slots__ = ()


ODD: Sequence[Any] = (
    *(None, True, False, 0, -1, 7, 1.5, -0.0, 2**31, 2**53 + 1, 2**63, -(2**64), 10**40, 10**2100, 10**4000),
    *(float("nan"), float("inf"), float("-inf"), Raw("1e400"), Raw("9" * 5000), Raw("1." + "3" * 400)),
    *(
        "",
        " ",
        "\n",
        "0",
        "-1",
        "007",
        "1.0",
        "NaN",
        "null",
        "..",
        "../../x",
        "a:b",
        "#",
        "%00",
        "@",
        "/",
        "<@",
        "<@U1>",
    ),
    *(
        "\x00",
        "a\x00b",
        "\ud83d",
        "\ude00",
        "\ude00\ud83d",
        "hi \ud83d",
        "\u202e\u2066",
        "\U0010ffff",
        "é" * 3,
        "٣" * 8,
    ),
    *("/new", "/stop", "/new@other_bot", "/resume \ud83d", "/resume " + "x" * 3000, "/status\x00", "<@\ud83d> hi"),
    *(
        "1" * 19,
        "9" * 21,
        "U" * 21,
        "9" * 300,
        "x" * 3000,
        "C" + "A" * 2100,
        "é" * 1100,
        "1.2",
        "9" * 12 + "." + "9" * 9,
    ),
    *("1e5", "1_000", "１２３", "1790000000.000100\n", "7001\n", "U7001 ", "-", "--1", "+1", "0x1f"),
    *([], {}, [None], [[]], [{}], {"id": 1}, {"a": {"a": {}}}, ["x"] * 50, [{"bot": True}], [{"id": 7, "bot": True}]),
    *(
        [{"user_id": 1, "is_bot": 1}],
        [{"value": {}}],
        [{"value": "\ud83d"}],
        {"user": None},
        {"id": "\ud83d"},
        {"text": "hi"},
    ),
    *(Raw("[" * depth + "]" * depth) for depth in (90, 900, DEEPEST)),
    Raw('{"a":' * DEEPEST + "1" + "}" * DEEPEST),
)
"""Values of another type, another size or another form than a platform sends."""
LONG = (500, 5_000, 70_000, 400_000, 900_000)
LETTERS = ("x", "é", "\x00", '"', "😀", "\ud83d", "<#", "<http://", "<@", "&#9", "\n", "/new ")


class _Key:
    """A second key of the same name in one object."""

    def __init__(self, name: str) -> None:
        self.name = name

    @staticmethod
    def plain(key: object) -> str:
        return key.name if isinstance(key, _Key) else str(key)


def as_json(value: Json) -> bytes:
    """JSON with everything that Python's encoder would not write: duplicate keys, and `Raw` texts."""
    return _text(value).encode()


def _text(value: Json) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        pairs = [f"{json.dumps(_Key.plain(key))}:{_text(inner)}" for key, inner in value.items()]
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)


@dataclass(frozen=True)
class Samples:
    """Webhooks of every kind that a platform sends in one way, as the service's owner causes them.

    `sign` makes the headers from the platform's secrets, the raw body and the time in seconds. `bodies` are the contents,
    the first a plain message of the owner; `number` makes them unique. `rest` follows the platform's name in the path.
    `seal` puts a secret into the body, on a platform that signs nothing in the headers.
    """

    platform: str
    sign: Callable[[Mapping[str, str], bytes, int], Mapping[str, str]]
    bodies: Callable[[int], Sequence[Json]]
    encode: Callable[[Json], bytes] = as_json
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"
    rest: str = ""
    seal: Callable[[Mapping[str, str], bytes], bytes] = lambda _, raw: raw


def hostile(chance: random.Random, samples: Samples, number: int) -> bytes:
    """One of the samples with up to four changes to its values, and sometimes to its bytes."""
    body = chance.choice(samples.bodies(number))
    if chance.random() < 0.03:
        body = chance.choice(ODD)
    for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 4))):
        body = _changed(chance, body)
    raw = samples.encode(body)
    return (chance.choice(_BYTES)(chance, raw) if chance.random() < 0.08 else raw)[:LARGEST]


def each_replaced(body: Json, value: Json) -> Iterator[Json]:
    """The body once for each value in it, with that one replaced."""
    for number, _ in enumerate(_places(body)):
        changed = _copied(body)
        container, key = list(_places(changed))[number]
        container[key] = value
        yield changed


def _changed(chance: random.Random, body: Json) -> Json:
    body = _copied(body)
    places = list(_places(body))
    if not places:
        return chance.choice(ODD)
    container, key = chance.choice(places)
    change = chance.choice((_replace, _replace, _replace, _lengthen, _drop, _wrap, _unwrap, _swap, _repeat, _add))
    change(chance, container, key, places)
    return body


def _replace(chance: random.Random, container: Any, key: Any, _: Sequence[Place]) -> None:
    container[key] = chance.choice(ODD)


def _lengthen(chance: random.Random, container: Any, key: Any, _: Sequence[Place]) -> None:
    letter = chance.choice(LETTERS)
    size = len(json.dumps(letter)) - 2
    container[key] = letter * (chance.choice(LONG) // size)


def _drop(_: random.Random, container: Any, key: Any, __: Sequence[Place]) -> None:
    del container[key]


def _wrap(chance: random.Random, container: Any, key: Any, _: Sequence[Place]) -> None:
    inner = container[key]
    container[key] = chance.choice(([inner], {"id": inner}, [inner, inner], {str(key): inner}))


def _unwrap(chance: random.Random, container: Any, key: Any, _: Sequence[Place]) -> None:
    inner = container[key]
    if isinstance(inner, dict | list) and inner:
        container[key] = chance.choice(list(inner.values()) if isinstance(inner, dict) else inner)


def _swap(chance: random.Random, container: Any, key: Any, places: Sequence[Place]) -> None:
    other, name = chance.choice(places)
    container[key], other[name] = _copied(other[name]), _copied(container[key])


def _repeat(chance: random.Random, container: Any, key: Any, _: Sequence[Place]) -> None:
    if isinstance(container, dict):
        container[_Key(str(_Key.plain(key)))] = chance.choice(ODD)


def _add(chance: random.Random, container: Any, key: Any, _: Sequence[Place]) -> None:
    name = chance.choice(
        ("is_bot", "bot", "thread_ts", "is_topic_message", "message_thread_id", "subtype", "new\ud83d")
    )
    if isinstance(container, dict):
        container[name] = chance.choice(ODD)
    else:
        container.insert(key, chance.choice(ODD))


_BYTES: Sequence[Callable[[random.Random, bytes], bytes]] = (
    lambda chance, raw: raw[: chance.randrange(len(raw) + 1)],
    lambda chance, raw: raw + chance.choice((b"}", b"{}", b" null", b"\x00", b"\xff")),
    lambda chance, raw: chance.choice((b"\xef\xbb\xbf", b"\x00", b"\xff\xfe", b")]}',\n")) + raw,
    lambda _, raw: raw.decode(errors="replace").encode("utf-16"),
    lambda _, raw: raw.replace(b'"', b"'"),
    lambda chance, raw: bytes(b if chance.random() < 0.98 else chance.randrange(256) for b in raw[:20_000]),
    lambda chance, _: chance.randbytes(chance.randrange(200)),
    lambda _, raw: raw.replace(b"\\u", b"\xed\xa0\xbd"),  # a surrogate as UTF-8 does not allow it
)
"""Changes to the bytes: cut off, not UTF-8, not JSON."""


def _places(value: Json) -> Iterator[Place]:
    for key, inner in list(
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield value, key
        yield from _places(inner)


def _copied(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value
