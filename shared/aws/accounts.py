"""People in DynamoDB: tokens, homes and who they are on each platform."""

from collections.abc import Mapping, Sequence

from shared.aws.tables import Tables, home_key, identity_key, person_key, token_key
from shared.aws.writes import Put, Refusal, absent, either, equals, put, transact
from shared.domain.routes import Place, place_of


class DynamoAccounts:
    """The `Accounts` port. A token is found in one read because it names its user; only its hash is stored."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def has_token(self, user_id: str, token_hash: str) -> bool:
        return self._tables.get(self._tables.sessions, token_key(user_id, token_hash)) is not None

    def add_token(self, user_id: str, token_hash: str) -> None:
        put(self._tables.client, Put(self._tables.sessions, token_key(user_id, token_hash)))

    def home(self, user_id: str, platform: str) -> Place | None:
        item = self._tables.get(self._tables.sessions, home_key(user_id, platform))
        return place_of(item["route"]) if item else None

    def homes(self, user_id: str) -> Mapping[str, Place]:
        rows = self._tables.query(f"USER#{user_id}", low="HOME#")
        return {row["sk"].removeprefix("HOME#"): place_of(row["route"]) for row in rows}

    def set_home(self, user_id: str, home: Place) -> None:
        put(
            self._tables.client,
            Put(self._tables.sessions, {**home_key(user_id, home.platform), "route": home.route}),
        )

    def add_identity(self, user_id: str, platform: str, person: str) -> None:
        """Tie a platform's person to a user, findable from both ends. A person who is somebody else's stays theirs."""
        mine = either(absent("pk"), equals("user", user_id))
        try:
            transact(
                self._tables.client,
                [
                    Put(self._tables.sessions, {**person_key(platform, person), "user": user_id}, [mine]),
                    Put(self._tables.sessions, identity_key(user_id, platform, person)),
                ],
            )
        except Refusal:
            raise ValueError(f"{platform} user {person} already belongs to another user") from None

    def identities(self, user_id: str, platform: str) -> Sequence[str]:
        prefix = f"IDENTITY#{platform}#"
        return [row["sk"].removeprefix(prefix) for row in self._tables.query(f"USER#{user_id}", low=prefix)]

    def user_of(self, platform: str, person: str) -> str | None:
        item = self._tables.get(self._tables.sessions, person_key(platform, person))
        return item["user"] if item else None
