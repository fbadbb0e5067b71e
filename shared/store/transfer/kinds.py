"""Kinds of items, and whether each moves to other tables."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from shared.domain.handoffs import OPEN
from shared.ports.tables import Item, Table
from shared.store.keys import DIRECTORY, FILE, LINK, LISTED, LOGIN, OFFER, QUESTION, RUNNER
from shared.store.versions import is_newer

IN_FLIGHT = ("turn", "active_handoff")
"""The attributes of a session that are about what is under way."""


class Kind(Enum):
    """The first ones move, in this order: a session is there when its transcript is, and tokens open the door last."""

    USER = "users"
    USE = "days of tokens' last uses"
    HOME = "homes"
    IDENTITY = "identities"
    PERSON = "people"
    RUNNER = "runners"
    USAGE = "usages"
    CHUNK = "parts of transcripts"
    SESSION = "sessions"
    FILE = "files"
    BACK_ROUTE = "back routes"
    ROUTE = "routes"
    HANDOFF = "ended handoffs"
    TOKEN = "tokens"  # noqa: S105  # a name

    OPEN_HANDOFF = "open handoffs"
    OFFER = "turns under way"
    UNSENT = "replies that are not delivered"
    UNANSWERED = "chat messages that are not answered"
    LOST_FILE = "files whose bytes are not there"
    JOURNAL = "notes on what was delivered and answered, and codes that are soon over"
    UNKNOWN = "items that this version does not know"


MOVED = tuple(Kind)[: tuple(Kind).index(Kind.TOKEN) + 1]
BLOCKING = (Kind.OPEN_HANDOFF, Kind.OFFER, Kind.UNSENT, Kind.UNANSWERED, Kind.UNKNOWN)
"""Items that would be lost: each can neither go on there nor, when the old service is off, here."""
CHANGEABLE = (Kind.USE, Kind.USAGE, Kind.RUNNER)
"""May differ in the target and then stays as it is there: it follows from use."""

_USER_ROWS = {
    "HOME#": Kind.HOME,
    "TOKEN#": Kind.TOKEN,
    "IDENTITY#": Kind.IDENTITY,
    "USAGE": Kind.USAGE,
    RUNNER: Kind.RUNNER,
    LINK: Kind.JOURNAL,
    LISTED: Kind.JOURNAL,
    LOGIN: Kind.JOURNAL,
}
_ALONE = {
    "PERSON": Kind.PERSON,
    "HEARD": Kind.JOURNAL,
    "ROUTE": Kind.ROUTE,
    "LINK": Kind.JOURNAL,
    "TRIES": Kind.JOURNAL,
    "PAIRING": Kind.JOURNAL,
    "UNREADABLE": Kind.JOURNAL,
}
_SESSION_ROWS = {
    "META": Kind.SESSION,
    "CHUNK#": Kind.CHUNK,
    "ROUTE#": Kind.BACK_ROUTE,
    QUESTION: Kind.JOURNAL,
    FILE: Kind.FILE,
}


def kind_of(table: Table, item: Item) -> Kind:
    """By its key and, where that does not say whether it is over, by its state."""
    if is_newer(item):
        return Kind.UNKNOWN
    if table is Table.HANDOFFS:
        is_over = "expires_at" in item and item.get("state") not in OPEN
        return Kind.HANDOFF if is_over else Kind.OPEN_HANDOFF
    pk, sk = str(item["pk"]), str(item["sk"])
    match pk.partition("#")[0]:
        case "USERS" if pk == DIRECTORY:
            kind = Kind.USE if "/" in sk else Kind.USER
        case "USER":
            kind = _by_prefix(_USER_ROWS, sk)
        case "INBOX":
            kind = Kind.UNANSWERED if item.get("status") == "new" else Kind.JOURNAL
        case "SESSION" | "NEWS" if sk.startswith(("OUT#", LINK)):
            kind = Kind.UNSENT if item.get("state") in ("waiting", "sending") else Kind.JOURNAL
        case "SESSION" if sk.startswith(OFFER):
            kind = Kind.JOURNAL if item.get("settled") else Kind.OFFER
        case "RUNNER":  # points to an offer
            kind = Kind.JOURNAL
        case "SESSION":
            kind = _by_prefix(_SESSION_ROWS, sk)
        case start:
            kind = _ALONE.get(sk if start == "PERSON" else start, Kind.UNKNOWN)
    return kind


def owner_of(kind: Kind, item: Item) -> str | None:
    """The user that an item itself names."""
    match kind:
        case Kind.HOME | Kind.IDENTITY | Kind.TOKEN | Kind.RUNNER | Kind.USAGE:
            return str(item["pk"]).partition("#")[2]
        case Kind.PERSON:
            return item.get("user")
        case Kind.SESSION | Kind.HANDOFF:
            return item.get("user_id")
    return None


def is_expired(item: Item, now: int) -> bool:
    """Whether its time is over and it only waits to be removed."""
    return isinstance(item.get("expires_at"), int) and item["expires_at"] <= now // 1000


def at_rest(meta: Mapping[str, Any]) -> Item:
    """A session without what is under way."""
    return {name: value for name, value in meta.items() if name not in IN_FLIGHT}


def _by_prefix(kinds: Mapping[str, Kind], sk: str) -> Kind:
    return next((kind for prefix, kind in kinds.items() if sk.startswith(prefix)), Kind.UNKNOWN)
