"""Tokens of users, and the directory of users with the day of each token's last use."""

from collections.abc import Sequence

from shared.domain.tokens import Token, known_scopes, token_id
from shared.errors import Conflict
from shared.ports.conditions import absent, differs, either, present
from shared.ports.tables import Check, ConditionFailed, Delete, Item, Put, Table, Tables, Write
from shared.store.keys import DIRECTORY, token_key, use_key, user_key, user_partition
from shared.store.versions import stamped


def token_of(token_hash: str, item: Item, *, last_used: str | None = None) -> Token:
    """A token item as a token; one without scopes allows nothing."""
    return Token(
        id=token_id(token_hash),
        scopes=known_scopes(item.get("scopes", ())),
        label=item.get("label", ""),
        created_at=item.get("created_at"),
        expires_at=item.get("valid_until"),
        last_used=last_used,
    )


def add(tables: Tables, user_id: str, token_hash: str, attributes: Item, *, by: str | None, is_new_user: bool) -> bool:
    """Store a token and its user's row in the directory; with `by`, only while that token exists."""
    writes: list[Write] = [
        Put(Table.SESSIONS, stamped({**token_key(user_id, token_hash), **attributes})),
        Put(Table.SESSIONS, stamped(user_key(user_id)), [absent("pk")] if is_new_user else []),
    ]
    if by is not None:
        writes.append(Check(Table.SESSIONS, token_key(user_id, by), [present("pk")]))
    try:
        tables.transact(writes)
    except ConditionFailed:
        return False
    return True


def all_of(tables: Tables, user_id: str) -> Sequence[Token]:
    prefix = use_key(user_id, "")["sk"]
    used = {row["sk"].removeprefix(prefix): row.get("day") for row in tables.query(DIRECTORY, low=prefix)}
    rows = tables.query(user_partition(user_id), low="TOKEN#")
    hashes = [(row["sk"].removeprefix("TOKEN#"), row) for row in rows]
    return [token_of(each, row, last_used=used.get(token_id(each))) for each, row in hashes]


def remove(tables: Tables, user_id: str, wanted: str) -> bool:
    rows = list(tables.query(user_partition(user_id), low=token_key(user_id, wanted)["sk"]))
    hashes = [row["sk"].removeprefix("TOKEN#") for row in rows]
    removed = False
    for token_hash in (each for each in hashes if token_id(each) == wanted):
        try:
            tables.delete(Delete(Table.SESSIONS, token_key(user_id, token_hash), [present("pk")]))
            removed = True
        except ConditionFailed:
            continue
    if removed:
        tables.delete(Delete(Table.SESSIONS, use_key(user_id, wanted)))
    return removed


def remove_all(tables: Tables, user_id: str) -> None:
    """A token may add another one while this runs, but not once it is deleted: so look again until none is left."""
    while rows := list(tables.query(user_partition(user_id), low="TOKEN#")):
        tables.delete_all(Table.SESSIONS, [Table.SESSIONS.key_of(row) for row in rows])


def mark_used(tables: Tables, user_id: str, used_id: str, day: str) -> None:
    """Not on the token itself: a function that only reads may write to the directory, and never a token."""
    row = stamped({**use_key(user_id, used_id), "day": day})
    try:
        tables.put(Put(Table.SESSIONS, row, [either(absent("pk"), differs("day", day))]))
    except (ConditionFailed, Conflict):
        return
