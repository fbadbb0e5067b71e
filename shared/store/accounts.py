"""Users: tokens, homes and identities on platforms."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence

from shared.domain.links import LinkedAccount
from shared.domain.routes import Place, place_of
from shared.domain.tokens import USUAL, Scope, Token, known_scopes, token_id
from shared.errors import Conflict
from shared.ports.conditions import Condition, absent, at_most, differs, either, equals, present
from shared.ports.tables import Check, ConditionFailed, Delete, Item, Put, Table, Tables, Write
from shared.store.deletion import delete_orders, delete_traces, partition
from shared.store.keys import (
    DIRECTORY,
    LINK,
    TOKEN,
    heard_key,
    home_key,
    identity_key,
    login_key,
    person_key,
    token_key,
    use_key,
    user_key,
    user_partition,
)
from shared.store.versions import stamped

KEEP_HEARD_SECONDS = 48 * 3600


class Accounts:
    """Users: tokens, homes, and identities on platforms. Every write may be repeated.

    A token names its user, so one read finds it; only its hash is stored.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def token(self, user_id: str, token_hash: str) -> Token | None:
        """The token with this hash, without the day of its last use. One consistent read."""
        item = self._tables.get(Table.SESSIONS, token_key(user_id, token_hash))
        return _token_of(token_hash, item) if item else None

    def tokens(self, user_id: str) -> Sequence[Token]:
        """All tokens of a user, expired ones included, in the order of their ids."""
        prefix = use_key(user_id, "")["sk"]
        used = {row["sk"].removeprefix(prefix): row.get("day") for row in self._tables.query(DIRECTORY, low=prefix)}
        hashes = [
            (row["sk"].removeprefix(TOKEN), row) for row in self._tables.query(user_partition(user_id), low=TOKEN)
        ]
        return [_token_of(each, row, last_used=used.get(token_id(each))) for each, row in hashes]

    def add_token(
        self,
        user_id: str,
        token_hash: str,
        *,
        scopes: frozenset[Scope] = USUAL,
        label: str = "",
        created_at: int | None = None,
        expires_at: int | None = None,
        by: str | None = None,
        is_new_user: bool = False,
    ) -> bool:
        """Store a token's hash. False, and nothing is stored, in these cases.

        `by` is the hash of the user's token that asks for another one, and is gone. `is_new_user`, and `users` has the user.
        """
        attributes = {
            "scopes": sorted(scope.value for scope in scopes),
            "label": label or None,
            "created_at": created_at,
            "valid_until": expires_at,
        }
        writes: list[Write] = [
            Put(Table.SESSIONS, stamped({**token_key(user_id, token_hash), **attributes})),
            Put(Table.SESSIONS, stamped(user_key(user_id)), [absent("pk")] if is_new_user else []),
        ]
        if by is not None:
            writes.append(Check(Table.SESSIONS, token_key(user_id, by), [present("pk")]))
        try:
            self._tables.transact(writes)
        except ConditionFailed:
            return False
        return True

    def remove_token(self, user_id: str, wanted: str) -> bool:
        """Revoke a token; it fails from the next request on. False if the user has no token with this id."""
        rows = list(self._tables.query(user_partition(user_id), low=token_key(user_id, wanted)["sk"]))
        hashes = [row["sk"].removeprefix(TOKEN) for row in rows]
        removed = False
        for token_hash in (each for each in hashes if token_id(each) == wanted):
            try:
                self._tables.delete(Delete(Table.SESSIONS, token_key(user_id, token_hash), [present("pk")]))
                removed = True
            except ConditionFailed:
                continue
        if removed:
            self._tables.delete(Delete(Table.SESSIONS, use_key(user_id, wanted)))
        return removed

    def mark_used(self, user_id: str, used: str, day: str) -> None:
        """Note the day of a token's use; writes at most once a day.

        Not on the token itself: a function that only reads may write to the directory, and never a token.
        """
        row = stamped({**use_key(user_id, used), "day": day})
        try:
            self._tables.put(Put(Table.SESSIONS, row, [either(absent("pk"), differs("day", day))]))
        except (ConditionFailed, Conflict):
            return

    def users(self) -> Sequence[str]:
        """The ids of all users, in order: of each who got a token or an identity."""
        rows = partition(self._tables, DIRECTORY)
        return sorted({row["sk"].partition("/")[0] for row in rows})

    def forget_tokens(self, user_id: str) -> None:
        """Revoke all tokens and codes of a user, those included that are added by one of them at the same time.

        A login may make a token until it is deleted, a token may make a code: in this order nothing is left.
        """
        self._remove_tokens(user_id)
        self._tables.delete(Delete(Table.SESSIONS, login_key(user_id)))
        self._remove_tokens(user_id)
        self._delete_all(list(self._tables.query(user_partition(user_id), low=LINK)))

    def forget(self, user_id: str) -> None:
        """Remove identities, homes, runners with their orders, and the user from `users`.

        After `forget_tokens` and the user's sessions.

        The rows of the directory go last: until then, a removal that was interrupted shows in the list of users.
        """
        for platform, people in self.all_identities(user_id).items():
            for person in people:
                self.remove_identity(user_id, platform, person)
        for home in self.homes(user_id).values():
            delete_traces(self._tables, user_id, home)
        delete_orders(self._tables, user_id)  # found by the runners, which go next
        owned = partition(self._tables, user_partition(user_id))
        self._delete_all(owned)
        self._delete_all(self._tables.query(DIRECTORY, low=use_key(user_id, "")["sk"]))
        self._tables.delete(Delete(Table.SESSIONS, user_key(user_id)))

    def _remove_tokens(self, user_id: str) -> None:
        """A token may add another one while this runs, but not once it is deleted: so look again until none is left."""
        while rows := list(self._tables.query(user_partition(user_id), low=TOKEN)):
            self._delete_all(rows)

    def _delete_all(self, rows: Iterable[Item]) -> None:
        self._tables.delete_all(Table.SESSIONS, [Table.SESSIONS.key_of(row) for row in rows])

    def home(self, user_id: str, platform: str) -> Place | None:
        item = self._tables.get(Table.SESSIONS, home_key(user_id, platform))
        return place_of(item["route"]) if item else None

    def homes(self, user_id: str) -> Mapping[str, Place]:
        rows = self._tables.query(user_partition(user_id), low="HOME#")
        return {row["sk"].removeprefix("HOME#"): place_of(row["route"]) for row in rows}

    def chats(self, user_id: str) -> Sequence[Place]:
        """The user's homes, and the private chats from which accounts were linked."""
        paired = (linked.chat for linked in self._linked(user_id) if linked.chat is not None)
        return list(dict.fromkeys([*self.homes(user_id).values(), *paired]))

    def linked_by(self, user_id: str, token: str) -> Sequence[LinkedAccount]:
        """The user's accounts that a code of the token with this id has linked, also after it was revoked."""
        return self._linked(user_id, token)

    def _linked(self, user_id: str, token: str | None = None) -> Sequence[LinkedAccount]:
        rows = self._tables.query(user_partition(user_id), low="IDENTITY#")
        return [
            LinkedAccount(*_account_of(row), place_of(row["route"]) if "route" in row else None)
            for row in rows
            if token is None or row.get("token") == token
        ]

    def unlink_account(self, user_id: str, linked: LinkedAccount) -> None:
        """Unlink one account, and remove the home if it is its chat. Safe to repeat.

        The home goes first: a repeat after a crash finds the account, and no handoff arrives at one that is gone.
        """
        if linked.chat is not None:
            is_home = [equals("route", linked.chat.route)]
            with contextlib.suppress(ConditionFailed):  # the home is another chat
                self._tables.delete(Delete(Table.SESSIONS, home_key(user_id, linked.platform), is_home))
        self.remove_identity(user_id, linked.platform, linked.account)

    def unlink(self, user_id: str, platform: str) -> bool:
        """Unlink all of a user's accounts on a platform and remove the home there. False if there was nothing.

        Accounts first: a home without an account receives nothing that anyone could answer.
        """
        people = self.identities(user_id, platform)
        removed = [self.remove_identity(user_id, platform, person) for person in people]
        had_home = self.home(user_id, platform) is not None
        self._tables.delete(Delete(Table.SESSIONS, home_key(user_id, platform)))
        return had_home or any(removed)

    def set_home(self, user_id: str, home: Place) -> None:
        self._tables.put(Put(Table.SESSIONS, stamped({**home_key(user_id, home.platform), "route": home.route})))

    def add_identity(self, user_id: str, platform: str, person: str) -> None:
        """Link a platform's user id to a user. Raises ValueError if it is linked to another user.

        Written in both directions, so that each finds the other.
        """
        try:
            self._tables.transact(
                [
                    Put(
                        Table.SESSIONS,
                        stamped({**person_key(platform, person), "user": user_id}),
                        [not_of_another_user(user_id)],
                    ),
                    Put(Table.SESSIONS, stamped(identity_key(user_id, platform, person))),
                    Put(Table.SESSIONS, stamped(user_key(user_id))),
                ]
            )
        except ConditionFailed:
            raise ValueError(f"{platform} user {person} already belongs to another user") from None

    def remove_identity(self, user_id: str, platform: str, person: str) -> bool:
        """Unlink a platform's user id. False if it is not linked to this user."""
        try:
            self._tables.transact(
                [
                    Delete(Table.SESSIONS, person_key(platform, person), [equals("user", user_id)]),
                    Delete(Table.SESSIONS, identity_key(user_id, platform, person)),
                    Delete(Table.SESSIONS, heard_key(platform, person)),
                ]
            )
        except ConditionFailed:
            return False
        return True

    def all_identities(self, user_id: str) -> Mapping[str, Sequence[str]]:
        """A user's ids on each platform where there is one."""
        found: dict[str, list[str]] = {}
        for row in self._tables.query(user_partition(user_id), low="IDENTITY#"):
            platform, person = _account_of(row)
            found.setdefault(platform, []).append(person)
        return found

    def identities(self, user_id: str, platform: str) -> Sequence[str]:
        prefix = identity_key(user_id, platform, "")["sk"]
        return [row["sk"].removeprefix(prefix) for row in self._tables.query(user_partition(user_id), low=prefix)]

    def user_of(self, platform: str, person: str) -> str | None:
        item = self._tables.get(Table.SESSIONS, person_key(platform, person))
        return item["user"] if item else None

    def heard(self, platform: str, person: str, at: int) -> None:
        """Note that a person wrote at `at` (ms). The latest time stays; it is kept for two days."""
        item = {**heard_key(platform, person), "at": at, "expires_at": at // 1000 + KEEP_HEARD_SECONDS}
        with contextlib.suppress(ConditionFailed):  # a later time is known
            self._tables.put(Put(Table.SESSIONS, stamped(item), [either(absent("pk"), at_most("at", at))]))

    def heard_at(self, platform: str, person: str) -> int | None:
        """When the person last wrote; None if that is long ago, or was never noted."""
        item = self._tables.get(Table.SESSIONS, heard_key(platform, person))
        return int(item["at"]) if item else None


def not_of_another_user(user_id: str) -> Condition:
    """Of the item of a platform's user id."""
    return either(absent("pk"), equals("user", user_id))


def _account_of(identity: Item) -> tuple[str, str]:
    """Platform and id of an identity."""
    platform, _, person = identity["sk"].removeprefix("IDENTITY#").partition("#")
    return platform, person


def _token_of(token_hash: str, item: Item, *, last_used: str | None = None) -> Token:
    """A token item as a token; one without scopes allows nothing."""
    return Token(
        id=token_id(token_hash),
        scopes=known_scopes(item.get("scopes", ())),
        label=item.get("label", ""),
        created_at=item.get("created_at"),
        expires_at=item.get("valid_until"),
        last_used=last_used,
    )
