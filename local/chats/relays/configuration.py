"""Secrets of real bots from the environment, and the relays that use them."""

from collections.abc import Iterable, Mapping
from typing import Any

from local.chats.relays.base import Relay, Target
from local.chats.spec import LocalChat, load


def variable(secret: str) -> str:
    """The environment variable of a secret: TELEGRAM_BOT_TOKEN for `telegram/bot_token`."""
    return secret.replace("/", "_").upper()


def secret_names(chat: LocalChat) -> list[str]:
    """All secrets of the platform's service and relay."""
    return list(dict.fromkeys([*chat.service_secrets, *(chat.relay.secrets if chat.relay else ())]))


def secrets_from(environment: Mapping[str, str], chats: Iterable[LocalChat]) -> dict[str, str]:
    """The secrets that are set, by name."""
    names = [name for chat in chats for name in secret_names(chat)]
    given = {name: environment.get(variable(name), "").strip() for name in names}
    return {name: value for name, value in given.items() if value}


def missing(names: Iterable[str], secrets: Mapping[str, str]) -> list[str]:
    """The environment variables to set for these secrets."""
    return [variable(name) for name in names if name not in secrets]


def make_relay(
    chat: LocalChat,
    url: str,
    secrets: Mapping[str, str],
    *,
    api_url: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Relay:
    """The platform's relay to the service at `url`, not started. Imports the platform's SDK."""
    if chat.relay is None:
        raise ValueError(f"{chat.spec.title} has no relay")
    relay: Relay = load(chat.relay.factory)(Target(url, api_url or chat.spec.api_url, secrets, options or {}))
    return relay
