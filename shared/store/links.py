"""Pairing codes and first logins.

LINK#<platform>#<hash>  the code: who made it, and for whom         USER#<by>  LINK#<platform>#<user>  the newest one
PAIRING#<platform>      until when a code may be open
USER#<invited>  LOGIN   may log in once                             TRIES#<platform>#<person>  tries in this hour
NEWS  LINK#<id>         chats that must be told of a new account
"""

from collections.abc import Sequence
from typing import Any

from shared.domain.links import LOGIN_LIFETIME, TRIES_PER_HOUR, Link, LinkState, NewAccount
from shared.domain.routes import Place, place_of
from shared.domain.tokens import Scope, token_id
from shared.ports.conditions import absent, at_most, differs, either, equals, more_than, present
from shared.ports.tables import Check, ConditionFailed, Item, Put, Table, Tables, Update, Write
from shared.store.accounts import not_of_another_user
from shared.store.keys import (
    LINK,
    NEWS,
    code_key,
    home_key,
    identity_key,
    link_key,
    login_key,
    news_key,
    pairing_key,
    person_key,
    token_key,
    tries_key,
    user_key,
    user_partition,
)
from shared.store.versions import VERSION, is_newer, stamped

HOUR = 3_600_000
KEEP_SECONDS = 24 * 3600
"""After its end a code is kept for redeliveries, and for its maker to look at."""


class Links:
    """Codes are known by their hashes. A writer that loses writes nothing."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def create(self, link: Link) -> bool:
        """Store a code, in the place of an earlier one for the same person and platform.

        False if the token that asks for it is gone, or has an expiry, which an account has not.
        """
        by_code = {**code_key(link.platform, link.code_hash), "by": link.by, "slot": link.slot, **_expiry(link)}
        newest = {**link_key(link.by, link.slot), **_attributes(link), **_expiry(link)}
        return self._all_or_nothing(
            Put(Table.SESSIONS, stamped(by_code), [absent("pk")]),
            Put(Table.SESSIONS, stamped(newest)),
            Put(
                Table.SESSIONS,
                stamped({**pairing_key(link.platform), "valid_until": link.valid_until, **_expiry(link)}),
            ),
            Check(Table.SESSIONS, token_key(link.by, link.token_hash), [present("pk"), absent("valid_until")]),
        )

    def is_pairing(self, platform: str, *, now: int) -> bool:
        """Whether a code for this platform may be open: then the bot accepts invitations of people it does not know yet."""
        item = self._tables.get(Table.SESSIONS, pairing_key(platform))
        return item is not None and item["valid_until"] > now

    def made_by(self, user_id: str) -> Sequence[Link]:
        """The newest code of a user for each person and platform, for about a day."""
        return [_link_of(row) for row in self._tables.query(user_partition(user_id), low=LINK)]

    def find(self, platform: str, code_hash: str) -> Link | None:
        """The link with this code, if no newer one replaced it."""
        code = self._tables.get(Table.SESSIONS, code_key(platform, code_hash))
        newest = self._tables.get(Table.SESSIONS, link_key(code["by"], code["slot"])) if code else None
        return _link_of(newest) if newest and newest["hash"] == code_hash else None

    def count_try(self, platform: str, account: str, event_id: str, *, now: int) -> bool:
        """Count one try of a sender. False, and nothing is written, if there were too many in this hour.

        A redelivery of the last event is not counted again.

        The usual case is one write. The first try of an hour meets a condition, and of two first ones one meets two.
        """
        key, hour = tries_key(platform, account), now // HOUR
        change = {"event": event_id, "expires_at": now // 1000 + KEEP_SECONDS, "v": VERSION}
        in_this_hour = [equals("hour", hour), at_most("tries", TRIES_PER_HOUR - 1), differs("event", event_id)]
        another = Update(Table.SESSIONS, key, in_this_hour, set=change, add={"tries": 1})
        is_over = [either(absent("hour"), at_most("hour", hour - 1))]
        first = Update(Table.SESSIONS, key, is_over, set={**change, "hour": hour, "tries": 1})
        for write in (another, first, another):
            try:
                self._tables.update(write)
            except ConditionFailed as failed:
                found = failed.items[0] or {}
                if write is another and found.get("hour") == hour:
                    return bool(found.get("event") == event_id)
            else:
                return True
        return False

    def use(
        self,
        link: Link,
        account: str,
        home: Place,
        event_id: str,
        *,
        now: int,
        name: str = "",
        chats: Sequence[Place] = (),
    ) -> bool:
        """open → linked, in one transaction: the account belongs to the user, and notes the token that made the code.

        `home` becomes the user's home if there is none, or if the person asked for that. `name` is what the account is
        called. If it is new to the user, `untold` has it until the user's other `chats` are told.

        For an invitation the user is made, too, and may log in once. False if the code is over, was used or replaced, the
        token that made it is gone, the account belongs to another user, or the invited name is taken.
        """
        user, platform = link.user_id, link.platform
        linked = {
            "state": LinkState.LINKED.value,
            "account": account,
            "account_name": name or None,
            "route": home.route,
            "event": event_id,
        }
        writes: list[Write] = [
            Update(Table.SESSIONS, link_key(link.by, link.slot), when=_still_open(link, now), set=linked),
            Put(Table.SESSIONS, stamped({**person_key(platform, account), "user": user}), [not_of_another_user(user)]),
            _home_of(link, home),
            _token_of_maker(link.by, link.token_hash),
            *self._identity(link, account, home, chats),
        ]
        if link.is_invitation:
            login = {
                **login_key(user),
                "valid_until": now + LOGIN_LIFETIME,
                "expires_at": now // 1000 + KEEP_SECONDS,
                "base_url": link.base_url or None,
                "by": link.by,
                "token": link.token_hash,
            }
            writes.append(Put(Table.SESSIONS, stamped({**user_key(user), "invited": True}), [absent("pk")]))
            writes.append(Put(Table.SESSIONS, stamped(login)))
        else:
            writes.append(Update(Table.SESSIONS, user_key(user), when=[], first={"v": VERSION}))
        return self._all_or_nothing(*writes)

    def _identity(self, link: Link, account: str, home: Place, chats: Sequence[Place]) -> list[Write]:
        """A known account stays as it is: the token of another code has not linked it."""
        key = identity_key(link.user_id, link.platform, account)
        if self._tables.get(Table.SESSIONS, key) is not None:
            return [Check(Table.SESSIONS, key, [present("pk")])]
        made_by = token_id(link.token_hash)
        identity = stamped({**key, "token": made_by, "route": home.route})
        writes: list[Write] = [Put(Table.SESSIONS, identity, [absent("pk")])]
        if told := [chat.route for chat in chats if chat != home]:
            named = {"user": link.user_id, "platform": link.platform, "account": account, "token": made_by}
            writes.append(
                Put(Table.SESSIONS, stamped({**news_key(link.id), **named, "chats": told, "state": "waiting"}))
            )
        return writes

    def untold(self, link_id: str = "") -> Sequence[NewAccount]:
        """The accounts, or that of one code, of which the user's other chats may not have been told."""
        rows = self._tables.query(NEWS, low=news_key(link_id)["sk"])
        return [_news_of(row) for row in rows if row.get("state") == "waiting" and not is_newer(row)]

    def told(self, news: NewAccount, *, now: int) -> None:
        """Note that the queue has the notices for all its chats. Safe to repeat."""
        change = {"state": "sent", "expires_at": now // 1000 + KEEP_SECONDS}
        self._all_or_nothing(Update(Table.SESSIONS, news_key(news.id), when=[present("pk")], set=change))

    def void(self, link: Link) -> bool:
        """open → void. False if it was not open any more."""
        still = [equals("hash", link.code_hash), equals("state", LinkState.OPEN.value)]
        change = {"state": LinkState.VOID.value}
        return self._all_or_nothing(Update(Table.SESSIONS, link_key(link.by, link.slot), when=still, set=change))

    def is_waiting(self, user_id: str) -> bool:
        """Whether the user was invited and linked, and has never logged in: such a person can be invited again."""
        item = self._tables.get(Table.SESSIONS, user_key(user_id))
        return item is not None and item.get("invited") is True

    def login_url(self, user_id: str, *, now: int) -> str | None:
        """Where a user who was invited and has not logged in yet may do so; None for all others."""
        item = self._tables.get(Table.SESSIONS, login_key(user_id))
        may = item is not None and "used_by" not in item and item["valid_until"] > now
        return item.get("base_url", "") if item and may else None

    def offer_login(self, user_id: str, code_hash: str, *, now: int) -> bool:
        """Let a code give the user's first token. An earlier code is void. False if the user may not log in so."""
        when = [more_than("valid_until", now), absent("used_by")]
        return self._all_or_nothing(Update(Table.SESSIONS, login_key(user_id), when=when, set={"hash": code_hash}))

    def login(
        self, user_id: str, code_hash: str, *, by: str, token_hash: str, scopes: frozenset[Scope], label: str, now: int
    ) -> bool:
        """Store the first token, once. `by` names the client: it may repeat this with the same token. False for all others.

        False also if the token that made the invitation is gone, and for a repeat after the first token was revoked.
        """
        offered = self._tables.get(Table.SESSIONS, login_key(user_id)) or {}
        when = [equals("hash", code_hash), more_than("valid_until", now), absent("used_by")]
        token = {
            **token_key(user_id, token_hash),
            "scopes": sorted(scope.value for scope in scopes),
            "label": label or None,
            "created_at": now,
        }
        return self._all_or_nothing(
            Update(Table.SESSIONS, login_key(user_id), when=when, set={"used_by": by}),
            Put(Table.SESSIONS, stamped(token)),
            _token_of_maker(offered.get("by", ""), offered.get("token", "")),
            Update(Table.SESSIONS, user_key(user_id), when=[], set={"invited": None}, first={"v": VERSION}),
        ) or self._has_logged_in(user_id, code_hash, by=by, token_hash=token_hash, now=now)

    def _has_logged_in(self, user_id: str, code_hash: str, *, by: str, token_hash: str, now: int) -> bool:
        """A repeat writes nothing, so it cannot restore a token that was revoked since."""
        login = self._tables.get(Table.SESSIONS, login_key(user_id)) or {}
        is_same = (login.get("hash"), login.get("used_by")) == (code_hash, by) and login["valid_until"] > now
        return is_same and self._tables.get(Table.SESSIONS, token_key(user_id, token_hash)) is not None

    def _all_or_nothing(self, *writes: Write) -> bool:
        try:
            self._tables.transact(writes)
        except ConditionFailed:
            return False
        return True


def _still_open(link: Link, now: int) -> list[Any]:
    return [
        equals("hash", link.code_hash),
        equals("state", LinkState.OPEN.value),
        more_than("valid_until", now),
    ]


def _home_of(link: Link, home: Place) -> Write:
    """Another chat that is the home stays it, unless the person asked."""
    key = home_key(link.user_id, link.platform)
    if link.moves_home:
        return Put(Table.SESSIONS, stamped({**key, "route": home.route}))
    return Update(Table.SESSIONS, key, when=[], first={"route": home.route, "v": VERSION})


def _news_of(item: Item) -> NewAccount:
    return NewAccount(
        id=item["sk"].removeprefix(LINK),
        user_id=item["user"],
        platform=item["platform"],
        account=item["account"],
        token_id=item["token"],
        chats=tuple(place_of(route) for route in item["chats"]),
    )


def _token_of_maker(user_id: str, token_hash: str) -> Check:
    """A code or a login is void without the token that made it."""
    return Check(Table.SESSIONS, token_key(user_id, token_hash), [present("pk")])


def _expiry(link: Link) -> Item:
    return {"expires_at": link.valid_until // 1000 + KEEP_SECONDS}


def _attributes(link: Link) -> Item:
    return {
        "id": link.id,
        "user": link.user_id,
        "platform": link.platform,
        "hash": link.code_hash,
        "valid_until": link.valid_until,
        "token": link.token_hash,
        "invitation": link.is_invitation,
        "moves_home": link.moves_home or None,
        "base_url": link.base_url or None,
        "state": link.state.value,
    }


def _link_of(item: Item) -> Link:
    """A state that only a later version knows is one in which the code is over."""
    state = item.get("state")
    return Link(
        id=item["id"],
        by=item["pk"].removeprefix(user_partition("")),
        user_id=item["user"],
        platform=item["platform"],
        code_hash=item["hash"],
        valid_until=item["valid_until"],
        token_hash=item.get("token", ""),
        is_invitation=bool(item.get("invitation")),
        moves_home=bool(item.get("moves_home")),
        base_url=item.get("base_url", ""),
        state=LinkState(state) if state in list(LinkState) else LinkState.VOID,
        account=item.get("account"),
        account_name=item.get("account_name"),
        home=place_of(item["route"]) if "route" in item else None,
        event_id=item.get("event"),
    )
