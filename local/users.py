"""The users of a service on one machine."""

import time
from collections.abc import Iterable

from local.chats.spec import LocalChat
from shared.domain.routes import Place
from shared.domain.tokens import FIRST
from shared.store.bundle import Store
from shared.use_cases.people.authenticate import hash_of, new_token

USERS = ("owner", "other")
"""`owner` has accounts on the simulated platforms; `other` only uses the terminal. Both have homes."""


def seed_users(store: Store, simulated: Iterable[LocalChat]) -> dict[str, str]:
    """Add the users with homes and accounts on the simulated platforms; returns a new token for each.

    Platforms with a real bot are left out: there, the id of a simulated person may belong to a real one.
    """
    tokens = {user: new_token(user) for user in USERS}
    for user, token in tokens.items():
        store.accounts.add_token(user, hash_of(token), scopes=FIRST)
    link_simulated(store, simulated)
    return tokens


def link_simulated(store: Store, simulated: Iterable[LocalChat]) -> None:
    """Link `owner` to the simulated accounts, and give both users homes where they have none."""
    for chat in simulated:
        store.accounts.add_identity("owner", chat.name, chat.people["owner"])
        if chat.spec.window is not None:  # the simulated people have just written to the bot
            store.accounts.heard(chat.name, chat.people["owner"], int(time.time() * 1000))
        for user, home in chat.homes.items():
            if store.accounts.home(user, chat.name) is None:
                store.accounts.set_home(user, Place(chat.name, home))


def unlink_simulated(store: Store, simulated: Iterable[LocalChat]) -> None:
    """Undo `link_simulated`. Homes that were changed since stay. Safe to repeat."""
    for chat in simulated:
        store.accounts.remove_identity("owner", chat.name, chat.people["owner"])
        for user, home in chat.homes.items():
            if store.accounts.home(user, chat.name) == Place(chat.name, home):
                store.accounts.unlink(user, chat.name)
