"""Users: tokens, homes and identities on platforms."""

from collections.abc import Mapping, Sequence

from shared.domain.routes import Place, place_of
from shared.ports.conditions import absent, either, equals
from shared.ports.tables import ConditionFailed, Delete, Put, Table, Tables
from shared.store.keys import home_key, identity_key, person_key, token_key, user_partition


class TableAccounts:
    """The `Accounts` port. A token names its user, so one read finds it; only its hash is stored."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def has_token(self, user_id: str, token_hash: str) -> bool:
        return self._tables.get(Table.SESSIONS, token_key(user_id, token_hash)) is not None

    def add_token(self, user_id: str, token_hash: str) -> None:
        self._tables.put(Put(Table.SESSIONS, token_key(user_id, token_hash)))

    def remove_token(self, user_id: str, token_hash: str) -> None:
        self._tables.delete(Delete(Table.SESSIONS, token_key(user_id, token_hash)))

    def home(self, user_id: str, platform: str) -> Place | None:
        item = self._tables.get(Table.SESSIONS, home_key(user_id, platform))
        return place_of(item["route"]) if item else None

    def homes(self, user_id: str) -> Mapping[str, Place]:
        rows = self._tables.query(user_partition(user_id), low="HOME#")
        return {row["sk"].removeprefix("HOME#"): place_of(row["route"]) for row in rows}

    def set_home(self, user_id: str, home: Place) -> None:
        self._tables.put(Put(Table.SESSIONS, {**home_key(user_id, home.platform), "route": home.route}))

    def add_identity(self, user_id: str, platform: str, person: str) -> None:
        """Written in both directions, so that each finds the other."""
        not_of_another_user = either(absent("pk"), equals("user", user_id))
        try:
            self._tables.transact(
                [
                    Put(Table.SESSIONS, {**person_key(platform, person), "user": user_id}, [not_of_another_user]),
                    Put(Table.SESSIONS, identity_key(user_id, platform, person)),
                ]
            )
        except ConditionFailed:
            raise ValueError(f"{platform} user {person} already belongs to another user") from None

    def identities(self, user_id: str, platform: str) -> Sequence[str]:
        prefix = identity_key(user_id, platform, "")["sk"]
        return [row["sk"].removeprefix(prefix) for row in self._tables.query(user_partition(user_id), low=prefix)]

    def user_of(self, platform: str, person: str) -> str | None:
        item = self._tables.get(Table.SESSIONS, person_key(platform, person))
        return item["user"] if item else None
