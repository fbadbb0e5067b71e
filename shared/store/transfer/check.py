"""Checks of the items of an export before the first one is written."""

import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.domain.handoffs import State
from shared.domain.routes import CLI, Place
from shared.domain.tokens import ID_LENGTH, MAX_LABEL, Scope, token_id
from shared.ports.table_writes import check_storable
from shared.ports.tables import Item, Table
from shared.store.files import moved_item
from shared.store.keys import (
    DIRECTORY,
    FILE,
    RUNNER,
    SEQUENCE_DIGITS,
    TOKEN,
    identity_key,
    meta_key,
    person_key,
    usage_key,
    use_key,
    user_partition,
)
from shared.store.session_items import item_of, session_of
from shared.store.transfer.kinds import IN_FLIGHT, MOVED, Kind, kind_of
from shared.store.values import is_number, place_at
from shared.store.versions import VERSION

MAX_UNPACKED = 4 * 1024 * 1024
"""Bytes of one part of a transcript. Parts are made of about 1 MiB, and no message is larger."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HASH = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_CHUNK = re.compile(rf"CHUNK#[0-9]{{{SEQUENCE_DIGITS}}}")
_HANDOFF = {
    **dict.fromkeys(("session_id", "user_id", "platform", "target", "origin", "body_hash", "state"), str),
    **dict.fromkeys(("request_epoch", "deadline", "created_at", "updated_at", "expires_at"), int),
}


@dataclass(frozen=True)
class Belongs:
    """What an item is, and whose: of a user, or of a session of the same file.

    `count` has the messages of a part of a transcript and of a session, and the bytes of a file; `first` is the number of
    a part's first message.
    """

    kind: Kind
    user: str | None = None
    session: str | None = None
    account: tuple[str, str] | None = None
    count: int = 0
    first: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)


def checked(table: Table, item: Item) -> Belongs:
    """What an item of an export is. Raises ValueError, TypeError, LookupError or InvalidOperation if it is none."""
    check_storable(table, item)
    version = item.get("v", VERSION)
    kind = kind_of(table, item)
    _require(type(version) is int and 0 <= version <= VERSION)
    _require(kind in MOVED and not any(name in item for name in IN_FLIGHT))
    return _CHECKS[kind](kind, item)


def _require(holds: object) -> None:
    if not holds:
        raise ValueError("not an item of an export")


def _typed(item: Item, **types: type) -> None:
    """These attributes are of their types, or missing."""
    _require(all(type(item[name]) is kind for name, kind in types.items() if name in item))


def _user_of(item: Item) -> str:
    user = item["pk"].removeprefix(user_partition(""))
    _require(_ID.fullmatch(user) and item["pk"] == user_partition(user))
    return str(user)


def _session_id(item: Item) -> str:
    session = item["pk"].removeprefix("SESSION#")
    _require(_ID.fullmatch(session))
    return str(session)


def _canonical(item: Mapping[str, Any], name: str) -> Place:
    """The place of a route that is written as this version writes it."""
    place = place_at(item, name)
    if place is None or not place.platform or not place.chat or place.route != item[name]:
        raise ValueError("not a route")
    return place


def _key_is(item: Item, key: Mapping[str, str]) -> None:
    _require({"pk": item["pk"], "sk": item["sk"]} == key)


def _user(kind: Kind, item: Item) -> Belongs:
    _require(item["pk"] == DIRECTORY and _ID.fullmatch(item["sk"]))
    return Belongs(kind, user=item["sk"])


def _use(kind: Kind, item: Item) -> Belongs:
    user, _, used = item["sk"].partition("/")
    _require(_ID.fullmatch(user) and len(used) <= ID_LENGTH and type(item["day"]) is str)
    _key_is(item, use_key(user, used))
    return Belongs(kind, user=user)


def _home(kind: Kind, item: Item) -> Belongs:
    home = _canonical(item, "route")
    _require(item["sk"] == f"HOME#{home.platform}" and home.platform != CLI)
    return Belongs(kind, user=_user_of(item))


def _identity(kind: Kind, item: Item) -> Belongs:
    user = _user_of(item)
    platform, _, person = item["sk"].removeprefix("IDENTITY#").partition("#")
    _require(_NAME.fullmatch(platform) and person)
    _key_is(item, identity_key(user, platform, person))
    _typed(item, token=str, route=str)
    if "route" in item:
        _canonical(item, "route")
    return Belongs(kind, user=user, account=(platform, person))


def _person(kind: Kind, item: Item) -> Belongs:
    platform, _, person = item["pk"].removeprefix("PERSON#").partition("#")
    _require(_NAME.fullmatch(platform) and person)
    _key_is(item, person_key(platform, person))
    _require(_ID.fullmatch(item["user"]))
    return Belongs(kind, user=item["user"], account=(platform, person))


def _runner(kind: Kind, item: Item) -> Belongs:
    _require(_ID.fullmatch(item["sk"].removeprefix(RUNNER)))
    _typed(item, name=str, version=str, agents=dict, seen_at=int, turn_at=int)
    _require(all(type(version) is str for version in item.get("agents", {}).values()))
    return Belongs(kind, user=_user_of(item))


def _usage(kind: Kind, item: Item) -> Belongs:
    user = _user_of(item)
    _key_is(item, usage_key(user))
    _require(all(is_number(value) for name, value in item.items() if name not in ("pk", "sk")))
    return Belongs(kind, user=user)


def _chunk(kind: Kind, item: Item) -> Belongs:
    _require(_CHUNK.fullmatch(item["sk"]) and type(item["data"]) is bytes and is_number(item["count"]))
    _require(_messages(item["data"]) == item["count"])
    first = int(item["sk"].removeprefix("CHUNK#"))
    return Belongs(kind, session=_session_id(item), count=item["count"], first=first)


def _messages(data: bytes) -> int:
    """How many messages a part of a transcript has; it must not unpack to more than a service can read."""
    try:
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(data, MAX_UNPACKED)
    except zlib.error as error:
        raise ValueError("not a part of a transcript") from error
    _require(unpacking.eof and not unpacking.unused_data)
    lines = text.decode("utf-8", "surrogatepass").split("\n")
    for line in lines:
        message = json.loads(line)
        _require(type(message) is dict and type(message.get("role")) is str)
    return len(lines)


def _session(kind: Kind, item: Item) -> Belongs:
    """It is stored as this version would store what it reads: so nothing in it was unreadable."""
    session = session_of(item)
    _require(_ID.fullmatch(session.id) and _ID.fullmatch(session.user_id) and not session.unreadable)
    _key_is(item, meta_key(session.id))
    _canonical(item, "owner")
    for name, value in item_of(session).items():
        _require(name == "v" or (name not in item if value is None else _same(item.get(name), value)))
    return Belongs(kind, user=session.user_id, session=session.id, count=session.message_count)


def _same(found: Any, value: Any) -> bool:
    if isinstance(value, Mapping):
        return type(found) is dict and all(_same(found.get(name), inner) for name, inner in value.items())
    return type(found) is type(value) and bool(found == value)


def _file(kind: Kind, item: Item) -> Belongs:
    """One that is stored as this version stores it. Its bytes follow."""
    _require(_HASH.fullmatch(item["sk"].removeprefix(FILE)) and item.get("stored") is True and "leaving" not in item)
    _require(_ID.fullmatch(item["user"]) and is_number(item["size"]) and is_number(item["due_at"]))
    _require(_same(item, {**moved_item(item), "v": item.get("v")}) and set(item) == set(moved_item(item)))
    return Belongs(kind, user=item["user"], session=_session_id(item), count=item["size"])


def _back_route(kind: Kind, item: Item) -> Belongs:
    _canonical({"route": item["sk"].removeprefix("ROUTE#")}, "route")
    return Belongs(kind, session=_session_id(item))


def _route(kind: Kind, item: Item) -> Belongs:
    _canonical({"route": item["pk"].removeprefix("ROUTE#")}, "route")
    _require(item["sk"] == "ROUTE" and type(item["session_id"]) is str)
    _typed(item, link=str)
    return Belongs(kind, session=item["session_id"])


def _handoff(kind: Kind, item: Item) -> Belongs:
    _require(all(type(item[name]) is expected for name, expected in _HANDOFF.items()))
    _require(_ID.fullmatch(item["user_id"]) and item["state"] in tuple(State))
    _typed(item, thread=dict, error=dict, receipt=dict, steps=dict, message=str, notice=str, command=str, claimant=str)
    _typed(item, attempt=int, fence=int, lease_until=int, not_before=int, bound_epoch=int, nudges=int)
    for name in ("target", "origin"):
        _canonical(item, name)
    if "thread" in item:
        _canonical(item["thread"], "route")
    return Belongs(kind, user=item["user_id"])


def _token(kind: Kind, item: Item) -> Belongs:
    token_hash, scopes, label = item["sk"].removeprefix(TOKEN), item["scopes"], item.get("label", "")
    _require(_HASH.fullmatch(token_hash))
    _require(type(scopes) is list and all(scope in tuple(Scope) for scope in scopes))
    _require(type(label) is str and len(label) <= MAX_LABEL)
    _typed(item, created_at=int, valid_until=int)
    details = {"id": token_id(token_hash), "scopes": scopes, "label": label, "valid_until": item.get("valid_until")}
    return Belongs(kind, user=_user_of(item), details=details)


_CHECKS: Mapping[Kind, Callable[[Kind, Item], Belongs]] = {
    Kind.USER: _user,
    Kind.USE: _use,
    Kind.HOME: _home,
    Kind.IDENTITY: _identity,
    Kind.PERSON: _person,
    Kind.RUNNER: _runner,
    Kind.USAGE: _usage,
    Kind.CHUNK: _chunk,
    Kind.SESSION: _session,
    Kind.FILE: _file,
    Kind.BACK_ROUTE: _back_route,
    Kind.ROUTE: _route,
    Kind.HANDOFF: _handoff,
    Kind.TOKEN: _token,
}
