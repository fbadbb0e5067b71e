"""Who may use a local run: two users with tokens and homes, and the secrets of the simulated platforms."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from local.chats.simulator.credentials import Credentials
from local.chats.simulator.world import OWNER
from local.cloud.engine import Engine
from local.cloud.stack import Stack
from shared.aws.store import dynamo_store
from shared.domain.routes import Place
from shared.ports.store import Store
from shared.use_cases.people.authenticate import hash_of, new_token


@dataclass(frozen=True)
class User:
    """A seeded user: the homes, and who they are on the platforms (nobody, if they only use the terminal)."""

    id: str
    homes: tuple[Place, ...]
    identities: tuple[tuple[str, str], ...] = ()


SEEDED = (
    User(
        "owner",
        (Place("telegram", "7001"), Place("slack", "C0HOME"), Place("discord", "6001000000000000001")),
        tuple(OWNER.ids.items()),
    ),
    User(
        "other",
        (Place("telegram", "7002"), Place("slack", "C0GENERAL"), Place("discord", "6002000000000000002")),
    ),
)


def store_of(engine: Engine, stack: Stack) -> Store:
    """The store of a local stack, with the rights of the account itself."""
    tables = stack.resources
    return dynamo_store(engine.client("dynamodb"), handoffs=tables["HandoffsTable"], sessions=tables["SessionsTable"])


def seed_users(store: Store, played: Collection[str]) -> dict[str, str]:
    """Write the users and return a fresh token for each.

    Only on platforms that are `played`: on a real one, a simulated person's id may be a stranger's.
    """
    tokens = {}
    for user in SEEDED:
        tokens[user.id] = new_token(user.id)
        store.accounts.add_token(user.id, hash_of(tokens[user.id]))
        for home in (home for home in user.homes if home.platform in played):
            store.accounts.set_home(user.id, home)
        for platform, person in (identity for identity in user.identities if identity[0] in played):
            store.accounts.add_identity(user.id, platform, person)
    return tokens


def simulated_secrets(credentials: Credentials) -> dict[str, str]:
    """What the functions need to talk to the simulator."""
    return {
        "telegram/bot_token": credentials.telegram_token,
        "telegram/webhook_secret": credentials.telegram_webhook_secret,
        "slack/bot_token": credentials.slack_bot_token,
        "slack/signing_secret": credentials.slack_signing_secret,
        "discord/bot_token": credentials.discord_bot_token,
        "discord/public_key": credentials.discord_public_key,
        "discord/relay_secret": credentials.discord_relay_secret,
    }


def put_secrets(ssm: Any, prefix: str, secrets: dict[str, str]) -> None:
    """Set secrets as the operator of a deployment would."""
    for name, value in secrets.items():
        ssm.put_parameter(Name=f"{prefix}/{name}", Value=value, Type="SecureString", Overwrite=True)
