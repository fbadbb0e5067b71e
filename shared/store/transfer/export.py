"""Reads everything that moves, each session as of one moment, also while the service runs."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from shared.domain.routes import place_of
from shared.ports.tables import Item, Table, Tables
from shared.store.files import moved_item
from shared.store.keys import FILE, meta_key, route_key, session_partition, usage_key, user_key
from shared.store.session_items import item_of, readable_session, session_of
from shared.store.transfer.kinds import BLOCKING, IN_FLIGHT, Kind, at_rest, is_expired, kind_of, owner_of
from shared.store.versions import is_newer, stamped

TRIES = 5
Record = tuple[Table, Item]


class SessionChanging(Exception):
    """A session is written again and again, so there is no moment to read it. Repeat it when it is idle."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"Session {session_id} keeps changing, or its transcript is not complete.")


@dataclass
class Export:
    """One pass over both tables. Call `sessions` to its end, then `rest`; the counts are complete after that.

    `is_foreign` decides about homes, identities and people that belong to this installation only.
    """

    tables: Tables
    now: int
    is_foreign: Callable[[Kind, Item], bool] = lambda _kind, _item: False
    has_bytes: Callable[[Item], bool] = lambda _item: False
    """Whether the bytes of a file's item are there, and move behind it."""
    counts: Counter[Kind] = field(default_factory=Counter)
    left_out: Counter[Kind] = field(default_factory=Counter)
    messages: int = 0
    _kept: dict[Kind, list[Record]] = field(default_factory=dict)
    _stored: Counter[str] = field(default_factory=Counter)
    _file_bytes: Counter[str] = field(default_factory=Counter)
    _users: set[str] = field(default_factory=set)

    def sessions(self) -> Iterator[Record]:
        """Sessions with their transcripts. What else there is, is kept: it is small. Raises SessionChanging."""
        for table in Table:
            for item in self.tables.scan(table):
                kind = kind_of(table, item)
                if is_expired(item, self.now):
                    continue
                if kind is Kind.SESSION and readable_session(item) is None:
                    self.left_out[Kind.UNKNOWN] += 1
                elif kind is Kind.SESSION:
                    yield from self._session(item)
                elif kind in (Kind.CHUNK, Kind.FILE, Kind.BACK_ROUTE, Kind.ROUTE, Kind.USAGE):
                    continue  # read with their session, or counted again
                elif kind in (*BLOCKING, Kind.JOURNAL):
                    self.left_out[kind] += 1
                elif not self.is_foreign(kind, item):
                    self._keep(kind, table, item)

    def before(self) -> Iterator[Record]:
        """Users, without their tokens. One who is not listed is added: an import takes only what belongs to its users."""
        for user in sorted({*self._stored, *self._file_bytes}):
            counts = {"stored_bytes": self._stored[user], "file_bytes": self._file_bytes[user]}
            usage = {name: count for name, count in counts.items() if count}
            self._keep(Kind.USAGE, Table.SESSIONS, {**stamped({**usage_key(user), **usage})})
        for user in sorted(self._users - {item["sk"] for _, item in self._kept.get(Kind.USER, [])}):
            self._keep(Kind.USER, Table.SESSIONS, {**stamped(user_key(user))})
        for kind in (Kind.USER, Kind.USE, Kind.HOME, Kind.IDENTITY, Kind.PERSON, Kind.RUNNER, Kind.USAGE):
            yield from self._kept.pop(kind, [])

    def after(self) -> Iterator[Record]:
        """Where sessions are, what has ended, and the tokens."""
        for kind in (Kind.BACK_ROUTE, Kind.ROUTE, Kind.HANDOFF, Kind.TOKEN):
            yield from self._kept.pop(kind, [])

    @property
    def blocking(self) -> Counter[Kind]:
        """Work under way that would be lost."""
        return Counter({kind: count for kind, count in self.left_out.items() if kind in BLOCKING})

    def _keep(self, kind: Kind, table: Table, item: Item) -> None:
        self.counts[kind] += 1
        if user := owner_of(kind, item):
            self._users.add(user)
        self._kept.setdefault(kind, []).append((table, item))

    def _session(self, meta: Item) -> Iterator[Record]:
        read = self._read(meta)
        if read is None:
            return
        meta, chunks, back_routes, routes = read
        if any(name in meta for name in IN_FLIGHT):
            self.left_out[Kind.OFFER] += "turn" in meta
            self.left_out[Kind.OPEN_HANDOFF] += "active_handoff" in meta
        for back_route in back_routes:
            self._keep(Kind.BACK_ROUTE, Table.SESSIONS, back_route)
        for route in routes:
            self._keep(Kind.ROUTE, Table.SESSIONS, route)
        if size := meta.get("uploaded_bytes"):
            self._stored[meta["user_id"]] += size
        self.counts[Kind.CHUNK] += len(chunks)
        self.counts[Kind.SESSION] += 1
        self.messages += meta["message_count"]
        self._users.add(meta["user_id"])
        yield from ((Table.SESSIONS, chunk) for chunk in chunks)
        yield Table.SESSIONS, at_rest(_mended(meta))
        yield from self._files(meta)

    def _files(self, meta: Item) -> Iterator[Record]:
        """The stored files of a session. Each is followed by its bytes."""
        for item in list(self.tables.query(session_partition(meta["session_id"]), low=FILE, high=f"{FILE}~")):
            if is_newer(item):
                self.left_out[Kind.UNKNOWN] += 1
            elif item.get("stored") is not True or "leaving" in item or item.get("user") != meta["user_id"]:
                self.left_out[Kind.LOST_FILE] += 1
            elif self.has_bytes(moved := moved_item(item)):
                self.counts[Kind.FILE] += 1
                self._file_bytes[meta["user_id"]] += moved["size"]
                yield Table.SESSIONS, moved
            else:
                self.left_out[Kind.LOST_FILE] += 1

    def _read(self, meta: Item) -> tuple[Item, list[Item], list[Item], list[Item]] | None:
        """META, chunks, back routes and routes that belong together; None if the session was deleted."""
        session_id = meta["session_id"]
        for _ in range(TRIES):
            chunks = list(self.tables.query(session_partition(session_id), low="CHUNK#"))
            back_routes = list(self.tables.query(session_partition(session_id), low="ROUTE#"))
            places = [place_of(row["sk"].removeprefix("ROUTE#")) for row in back_routes]
            pointers = self.tables.get_many(Table.SESSIONS, [route_key(place) for place in places])
            again = self.tables.get(Table.SESSIONS, meta_key(session_id))
            if again is None:
                return None
            if again == meta and sum(chunk["count"] for chunk in chunks) == meta["message_count"]:
                return meta, chunks, back_routes, [row for row in pointers if row["session_id"] == session_id]
            meta = again
        raise SessionChanging(session_id)


def _mended(meta: Item) -> Item:
    """A session without what cannot be read: an import would refuse it."""
    as_read = {**meta, **item_of(session_of(meta))}
    return {name: value for name, value in as_read.items() if value is not None}
