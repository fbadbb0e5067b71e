"""The contents of a file of an export: an index on the disk, so that its size does not matter."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from local.transfer.file_bytes import Whole
from shared.ports.tables import Table
from shared.store.transfer.check import Belongs, checked
from shared.store.transfer.export import Record
from shared.store.transfer.kinds import Kind

_SCHEMA = """
CREATE TABLE items (key TEXT PRIMARY KEY, kind TEXT, user TEXT, session TEXT, account TEXT, first INT, count INT, details TEXT)
WITHOUT ROWID;
CREATE INDEX by_kind ON items (kind, user, account);
CREATE INDEX by_session ON items (session, kind, first);
"""
_MISSING = {
    "items of users that it does not bring": """
        SELECT DISTINCT user FROM items AS each WHERE user IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM items WHERE kind = :users AND user = each.user)""",
    "parts of sessions that it does not bring": """
        SELECT DISTINCT session FROM items AS each WHERE session IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM items WHERE kind = :sessions AND session = each.session)""",
    "accounts that are linked on one side only": """
        SELECT account FROM items AS each WHERE kind IN (:people, :identities) AND NOT EXISTS (
            SELECT 1 FROM items WHERE kind IN (:people, :identities) AND kind <> each.kind AND user = each.user
            AND account = each.account)""",
    "files of another user than their session's": """
        SELECT session FROM items AS each WHERE kind = :files
        AND NOT EXISTS (SELECT 1 FROM items WHERE kind = :sessions AND session = each.session AND user = each.user)""",
    "transcripts that are not whole": """
        SELECT session FROM items AS each WHERE kind = :sessions AND count <>
            (SELECT coalesce(sum(count), 0) FROM items WHERE kind = :parts AND session = each.session)
        UNION SELECT session FROM items AS each WHERE kind = :parts AND first <>
            (SELECT coalesce(sum(count), 0) FROM items WHERE kind = :parts AND session = each.session AND first < each.first)""",
}
_KINDS = {
    "users": Kind.USER.value,
    "sessions": Kind.SESSION.value,
    "people": Kind.PERSON.value,
    "identities": Kind.IDENTITY.value,
    "parts": Kind.CHUNK.value,
    "files": Kind.FILE.value,
}


class Contents:
    """The items of one file by key, user and session. Fill it with `add`, then look for what is `missing`."""

    def __init__(self, path: Path) -> None:
        self._index = sqlite3.connect(path, isolation_level=None)
        self._index.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_SCHEMA} BEGIN;")
        self._whole = Whole()

    def close(self) -> None:
        self._index.close()

    def add(self, record: Record | bytes) -> None:
        """Check an item, or a piece of the last one, and note it. Raises what `checked` does, ValueError if its key is there."""
        if isinstance(record, bytes):
            self._whole.add(record)
            return
        table, item = record
        found: Belongs = checked(table, item)
        account = json.dumps(found.account) if found.account else None
        details = json.dumps(found.details) if found.details else None
        values = (_key(record), found.kind.value, found.user, found.session, account, found.first, found.count, details)
        try:
            self._index.execute("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        except sqlite3.IntegrityError:
            raise ValueError("an item is there twice") from None
        self._whole.end()
        if found.kind is Kind.FILE:
            self._whole = Whole(item)

    def missing(self) -> str | None:
        """What keeps the items from belonging together, with the first example; None if nothing does."""
        try:
            self._whole.end()
        except ValueError:
            return "a file that is not whole"
        for what, statement in _MISSING.items():
            names = {name: value for name, value in _KINDS.items() if f":{name}" in statement}
            row = self._index.execute(f"{statement} LIMIT 1", names).fetchone()
            if row is not None:
                return f"{what}, such as {printable(str(row[0]))}"
        return None

    def user_of(self, record: Record) -> str:
        """The user that an item belongs to: its own, or that of its session."""
        user, session = self._index.execute("SELECT user, session FROM items WHERE key = ?", [_key(record)]).fetchone()
        if user is None:
            wanted = (session, Kind.SESSION.value)
            (user,) = self._index.execute("SELECT user FROM items WHERE session = ? AND kind = ?", wanted).fetchone()
        return str(user)

    def has(self, record: Record) -> bool:
        return self._index.execute("SELECT 1 FROM items WHERE key = ?", [_key(record)]).fetchone() is not None

    def users(self) -> Iterator[str]:
        return (str(user) for (user,) in self._rows("user", Kind.USER))

    def sessions(self) -> Iterator[str]:
        return (str(session) for (session,) in self._rows("session", Kind.SESSION))

    def number(self, kind: Kind | None = None) -> int:
        counted = "SELECT count(*) FROM items WHERE kind = coalesce(?, kind)"
        (count,) = self._index.execute(counted, [kind and kind.value]).fetchone()
        return int(count)

    def messages(self) -> int:
        return sum(count for (count,) in self._rows("count", Kind.SESSION))

    def people(self) -> Iterator[dict[str, Any]]:
        """Each user with accounts and tokens."""
        for user in self.users():
            accounts = [json.loads(account) for (account,) in self._rows("account", Kind.IDENTITY, user)]
            tokens = [json.loads(details) for (details,) in self._rows("details", Kind.TOKEN, user)]
            yield {"user": user, "accounts": accounts, "tokens": tokens}

    def _rows(self, column: str, kind: Kind, user: str | None = None) -> Iterator[tuple[Any, ...]]:
        """Some values of a kind, of all users or of one. They are read one by one."""
        where = "kind = ?" if user is None else "kind = ? AND user = ?"
        statement = f"SELECT {column} FROM items WHERE {where} ORDER BY user, account"  # noqa: S608  # names of columns
        return self._index.execute(statement, [kind.value] if user is None else [kind.value, user])


def printable(text: str) -> str:
    """A text of a file that may be hostile, for a terminal."""
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)


def _key(record: Record) -> str:
    table, item = record
    return json.dumps([table.name, *(item[name] for name in Table[table.name].value)])
