"""Real bots in a local run: the platforms whose tokens are in the environment, and the user of each bot."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from local.chats import CHATS
from local.chats.relays.base import Relay
from local.chats.relays.configuration import make_relay, missing, secret_names, secrets_from
from local.chats.spec import LocalChat
from shared.domain.routes import Place
from shared.store.bundle import Store

USER = "owner"


@dataclass(frozen=True)
class RealBot:
    """One platform whose real bot is used instead of the simulator.

    `user_id` is the one account that may talk to the bot, if set. `home` is the chat where handoffs arrive; without it,
    `/sethome` in a chat sets it. `api_url` replaces the public address: a self-hosted Bot API server, a proxy.
    """

    chat: LocalChat
    secrets: Mapping[str, str] = field(repr=False)
    user_id: str = ""
    home: str = ""
    api_url: str = ""
    relay_options: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.chat.name

    def described(self, store: Store) -> str:
        """One line for a person, with the next step if one is missing."""
        if not store.accounts.identities(USER, self.name):
            return f"{self.name}: no account of yours is linked yet: handoff link {self.name}"
        home = store.accounts.home(USER, self.name)
        if home is None:
            return f"{self.name}: send /sethome to the bot in the chat where handoffs are to arrive"
        return f"{self.name}: handoffs arrive in chat {home.chat}"


@dataclass(frozen=True)
class RealBots:
    """All real bots of a local run."""

    bots: Sequence[RealBot] = ()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], chats: Sequence[LocalChat] = CHATS) -> "RealBots":
        """TELEGRAM_BOT_TOKEN and the like enable a platform; TELEGRAM_USER_ID and TELEGRAM_HOME set user and home."""
        bots = (_bot(chat, environment) for chat in chats if chat.spec.is_supported)
        return cls(tuple(bot for bot in bots if bot is not None))

    @property
    def platforms(self) -> list[str]:
        return [bot.name for bot in self.bots]

    def api_urls(self) -> dict[str, str]:
        """The addresses that are not public ones."""
        urls = {
            bot.name: bot.api_url or (bot.chat.spec.api_url if bot.chat.spec.here_only else "") for bot in self.bots
        }
        return {name: url for name, url in urls.items() if url}

    def secrets(self) -> dict[str, str]:
        """The secrets for the service."""
        return {
            name: bot.secrets[name] for bot in self.bots for name in bot.chat.service_secrets if name in bot.secrets
        }

    def seed(self, store: Store) -> None:
        """Link the user to their accounts, and set their homes."""
        for bot in self.bots:
            if bot.user_id:
                store.accounts.add_identity(USER, bot.name, bot.user_id)
            if bot.home:
                store.accounts.set_home(USER, Place(bot.name, bot.home))

    def relays(self, url: str) -> list[Relay]:
        """The relays that forward messages without a tunnel."""
        return [
            make_relay(bot.chat, url, bot.secrets, api_url=bot.api_url, options=bot.relay_options)
            for bot in self.bots
            if bot.chat.relay
        ]

    def faults(self) -> Iterator[str]:
        """Ids of another form than the platform's, one sentence each."""
        for bot in self.bots:
            if bot.user_id and not bot.chat.spec.is_person_id(bot.user_id):
                yield f"{bot.name.upper()}_USER_ID={bot.user_id} is not the id of a person on {bot.chat.spec.title}."
            if bot.home and not bot.chat.spec.is_chat_id(bot.home):
                yield f"{bot.name.upper()}_HOME={bot.home} is not the id of a chat on {bot.chat.spec.title}."

    def described(self, store: Store) -> list[str]:
        return [bot.described(store) for bot in self.bots]


def _bot(chat: LocalChat, environment: Mapping[str, str]) -> RealBot | None:
    """The platform's bot if all its tokens are set. Secrets that only service and relay share are generated."""
    shared = chat.relay.shared_secrets if chat.relay else ()
    given = secrets_from(environment, [chat])
    tokens = [name for name in secret_names(chat) if name not in (*shared, *chat.spec.optional_secrets)]
    if not tokens or missing(tokens, given):
        return None
    prefix = chat.name.upper()
    user_id = environment.get(f"{prefix}_USER_ID", "")
    options = chat.relay.options if chat.relay else ()
    urls = {
        option.name: environment.get(f"{prefix}_{option.name.upper()}", "") for option in options if not option.is_flag
    }
    return RealBot(
        chat,
        {name: secrets.token_hex(32) for name in shared} | given,
        user_id,
        environment.get(f"{prefix}_HOME", "") or (user_id if chat.user_id_is_home else ""),
        environment.get(f"{prefix}_API_URL", ""),
        {name: value for name, value in urls.items() if value},
    )
