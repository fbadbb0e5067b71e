"""The users of a local run, and its secrets."""

from collections.abc import Iterable, Mapping
from typing import Any

from local.chats.spec import LocalChat
from local.cloud.engine import Engine
from local.cloud.stack import Stack
from shared.aws.secrets import parameter_of
from shared.aws.tables import DynamoTables
from shared.domain.routes import Place
from shared.ports.store import Store
from shared.store.bundle import store_on
from shared.use_cases.people.authenticate import hash_of, new_token

USERS = ("owner", "other")
"""`owner` has accounts on the simulated platforms; `other` only uses the terminal. Both have homes."""


def store_of(engine: Engine, stack: Stack) -> Store:
    """The store of a local stack, with the permissions of the account."""
    names = stack.resources
    client = engine.client("dynamodb")
    return store_on(DynamoTables(client, handoffs=names["HandoffsTable"], sessions=names["SessionsTable"]))


def seed_users(store: Store, simulated: Iterable[LocalChat]) -> dict[str, str]:
    """Add the users with homes and accounts on the simulated platforms; returns a new token for each.

    Platforms with a real bot are left out: there, the id of a simulated person may belong to a real one.
    """
    tokens = {user: new_token(user) for user in USERS}
    for user, token in tokens.items():
        store.accounts.add_token(user, hash_of(token))
    for chat in simulated:
        store.accounts.add_identity("owner", chat.name, chat.people["owner"])
        for user, home in chat.homes.items():
            store.accounts.set_home(user, Place(chat.name, home))
    return tokens


def put_secrets(ssm: Any, prefix: str, secrets: Mapping[str, str]) -> None:
    """Set secrets, as the operator of a deployment does."""
    for name, value in secrets.items():
        ssm.put_parameter(Name=parameter_of(prefix, name), Value=value, Type="SecureString", Overwrite=True)
