"""Malformed HTTP requests, drawn from a seeded random generator."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.platform_cases import DEFAULT_PLATFORM as PLATFORM
from tests.support.platform_cases import PLATFORMS, SHARED_CHATS

VALUES: Sequence[bytes] = (
    *(b"null", b"true", b"0", b"-1", b"1.0", b"1e400", b"-1e400", b"NaN", b"-Infinity", b"-0", b"1" * 50, b"9" * 4000),
    *(
        b"9" * 5000,
        b"9007199254740993",
        b'""',
        b'" "',
        b'"x"',
        b'"\\ud800"',
        b'"\\u0000"',
        b'"\xff"',
        b'"\xed\xa0\x80"',
    ),
    *(
        b'"' + b"y" * 5000 + b'"',
        b'"\\u202e\\u2066"',
        "\U0001f469\u200d\U0001f469\u200d\U0001f466".encode().join([b'"'] * 2),
    ),
    *(b"[]", b"{}", b"[null]", b'[{"role":"user"}]', b'{"role":"user","content":"x"}', b"[[[[[[]]]]]]"),
    *(b"[" * 99 + b"]" * 99, b"[" * 400 + b"]" * 400, b"[" * 990 + b"]" * 990, b"[" * 5000 + b"]" * 5000),
    *(b'{"a":' * 300 + b"1" + b"}" * 300, b'"../../etc"', b'"7001"', b'"telegram"', b'"matrix"', b'"-1002"'),
    *(b'[{"role":"user","content":"x","n":1e400}]', b'[{"role":["user"],"content":"x"}]', b'[{"role":{},"content":1}]'),
    *(b'[{"role":"tool","content":"x","tool_call_id":7}]', b'[{"role":"user","content":null,"tool_calls":"no"}]'),
    *(
        b'[{"role":"user","content":[{"type":"text","text":"\\udfff"}]}]',
        b'[{"role":"user","content":"a","role":"tool"}]',
    ),
)
"""Odd JSON values, and some that are not JSON."""

IDS = (
    *("..", ".", "%2e%2e", "%2F", "a%2Fb", "%00", "%0a", "a%0d%0aX:1", "%ff", "%C3%A9", "a" * 64, "a" * 65, "a" * 3000),
    *(
        "",
        "~",
        "a b".replace(" ", "%20"),
        "SESSION%23x",
        "META",
        "$ne",
        "*",
        "%25",
        "%u0041",
        ";x=1",
        "at-telegram:7001",
    ),
)
QUERIES = (
    *(
        "limit=-1",
        "limit=0",
        "limit=1e3",
        "limit=" + "9" * 30,
        "limit=" + "9" * 5000,
        "limit=",
        "limit=%00",
        "limit=%ff",
    ),
    *("after=-1", "after=" + "9" * 40, "after=NaN", "after=9007199254740992", "cursor=x", "cursor=%ff%fe", "cursor="),
    *(
        "cursor=" + "A" * 4000,
        "cursor=LTUgeA==",
        "state=sideways",
        "state=",
        "session_id=%00%ff",
        "session_id=" + "s" * 3000,
    ),
    *(
        "limit=1&limit=x",
        "&&&===",
        "%",
        "limit[]=1",
        "cursor=OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTkgeA==",
    ),
)
HEADERS: Sequence[Mapping[str, str]] = (
    *({"Content-Type": kind} for kind in ("", "text/plain", "application/xml", "application/json; charset=utf-16")),
    *({"Content-Type": kind} for kind in ("application/x-www-form-urlencoded", "multipart/form-data", "a/b/c", ";;")),
    *({"Idempotency-Key": key} for key in ("", "k" * 256, "\xff\xfe", "a\tb")),
    *(
        {"Accept": "image/png"},
        {"X-Filler": "x" * 7000},
        {"Host": "evil.example"},
        {"X-HTTP-Method-Override": "DELETE"},
    ),
    *(
        {"Cookie": "a=b; c"},
        {"Accept-Encoding": "br;q=x"},
        {"Expect": "200-maybe"},
        {"Forwarded": "for=evil;proto=gopher"},
    ),
)
METHODS = ("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS")
ONE: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]


@dataclass(frozen=True)
class Call:
    """One request; `target` is sent without further encoding."""

    method: str
    target: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def good_calls(session_id: str, handoff_id: str) -> list[Call]:
    """One valid request per route."""
    here = f"/sessions/{session_id}"

    def call(method: str, target: str, body: Any = None) -> Call:
        return Call(method, target, b"" if body is None else json.dumps(body).encode())

    inline = {"session": {"id": "inline", "title": "t", "messages": ONE}, "platform": PLATFORM, "epoch": 7}
    return [
        call("GET", "/health"),
        call("GET", "/platforms"),
        call("GET", "/sessions"),
        call("GET", here),
        call("GET", f"{here}/messages"),
        call("GET", "/handoffs"),
        call("GET", f"/handoffs/{handoff_id}"),
        call("PUT", f"/platforms/{PLATFORM}/home", {"chat": SHARED_CHATS[PLATFORM]}),
        call("PUT", here, {"title": "t", "source": "s", "cwd": "/", "model": "m"}),
        call("POST", f"{here}/messages", {"epoch": 0, "after": 0, "messages": ONE}),
        call("POST", f"{here}/turns", {"epoch": 9, "id": "t1", "text": "x"}),
        call("POST", f"{here}/resume", {"epoch": 9, "fork": False}),
        call("POST", "/handoffs", {"session_id": session_id, "platform": PLATFORM, "epoch": 9, "replace": True}),
        call("POST", "/handoffs", inline),
        call("DELETE", "/handoffs/nothing"),
        call("DELETE", "/sessions/nothing"),
        *(call("POST", f"/webhooks/{name}", {"update_id": 1, "type": 1}) for name in PLATFORMS),
    ]


def malformed(chance: random.Random, call: Call) -> Call:
    """The request with one to three defects."""
    for _ in range(chance.randint(1, 3)):
        call = chance.choice((_value, _value, _raw, _path, _query, _headers, _method))(chance, call)
    return call


def _value(chance: random.Random, call: Call) -> Call:
    """An odd value in one field of the body, or an unknown field."""
    try:
        fields = json.loads(call.body)
    except (ValueError, RecursionError):
        return _raw(chance, call)
    if not isinstance(fields, dict) or not fields:
        return _raw(chance, call)
    names = [*fields, "unknown"]
    odd = chance.choice(names)
    pairs = [
        (json.dumps(name).encode(), chance.choice(VALUES) if name == odd else json.dumps(fields.get(name)).encode())
        for name in (names if odd == "unknown" else list(fields))
    ]
    if chance.random() < 0.1:
        pairs.append(pairs[0])
    return Call(call.method, call.target, b"{" + b",".join(b":".join(pair) for pair in pairs) + b"}", call.headers)


def _raw(chance: random.Random, call: Call) -> Call:
    """A body of other bytes."""
    change = chance.choice(
        (
            lambda body: body[: len(body) // 2],
            lambda body: body + b"}",
            lambda body: b"\xef\xbb\xbf" + body,
            lambda body: body.decode("utf-8", "replace").encode("utf-16"),
            lambda body: b"\x00" + body,
            lambda _: b"",
            lambda _: bytes(chance.randrange(256) for _ in range(64)),
            lambda _: chance.choice(VALUES),
            lambda body: body.replace(b'"', b"'"),
        )
    )
    return Call(call.method, call.target, change(call.body), call.headers)


def _path(chance: random.Random, call: Call) -> Call:
    path, mark, query = call.target.partition("?")
    parts = path.split("/")
    parts[chance.randrange(1, len(parts))] = chance.choice(IDS)
    if chance.random() < 0.2:
        parts.insert(chance.randrange(1, len(parts)), chance.choice(("", "..", "%2e%2e")))
    return Call(call.method, "/".join(parts) + mark + query, call.body, call.headers)


def _query(chance: random.Random, call: Call) -> Call:
    return Call(call.method, f"{call.target.partition('?')[0]}?{chance.choice(QUERIES)}", call.body, call.headers)


def _headers(chance: random.Random, call: Call) -> Call:
    return Call(call.method, call.target, call.body, {**call.headers, **chance.choice(HEADERS)})


def _method(chance: random.Random, call: Call) -> Call:
    return Call(chance.choice(METHODS), call.target, call.body, call.headers)
