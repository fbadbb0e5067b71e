"""A chat platform in local runs: its simulation, its relay, its looks on the page."""

import importlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.platforms.spec import PlatformSpec


@dataclass(frozen=True)
class SeededChat:
    """A chat that exists when the simulator starts. `kind` is one of the platform's kinds, `people` are keys of people."""

    id: str
    title: str
    kind: str
    people: tuple[str, ...] = ("owner", "stranger")


@dataclass(frozen=True)
class ChatKind:
    """One kind of chat, and how the page shows it. Without `threads`, handoffs arrive in the chat itself.

    A forum consists of threads; some forums accept no messages outside of them. `names_people`: people see a new thread
    at once only if they are mentioned in it or added to it.
    """

    name: str
    short: str
    sign: str = "#"
    is_forum: bool = False
    accepts_messages: bool = True
    threads: bool = True
    names_people: bool = False


@dataclass(frozen=True)
class RelayOption:
    """An option of a relay that only its platform has: `--gateway-url`, or DISCORD_GATEWAY_URL in real-bot mode.

    `simulated_url` is its value for the simulator, where `{host}` stands for host and port.
    """

    name: str
    help: str
    is_flag: bool = False
    simulated_url: str = ""

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True)
class LocalRelay:
    """How to run the platform's relay. `factory` (`module:Class`) makes a Relay from a Target.

    The relay needs all of `secrets`. Those in `shared_secrets` only authenticate the relay to the service: a local run
    generates them when they are not set. `in_simulation`: simulated messages also reach the service through the relay.
    `is_only_way`: the platform never posts, so the relay is needed beside a public address, too.
    """

    factory: str
    secrets: tuple[str, ...]
    shared_secrets: tuple[str, ...] = ()
    options: tuple[RelayOption, ...] = ()
    in_simulation: bool = False
    is_only_way: bool = False


@dataclass(frozen=True)
class LocalChat:
    """One platform in local runs.

    `people` maps the keys owner, stranger and bot to ids on the platform; `homes` maps the seeded users to chats.
    `wire` (`module:Class`) speaks the platform's protocol, see Wire in simulator/protocol.py; `options` are its settings.
    `make_secrets` returns new secrets of the simulated bot; without it each secret of the spec is a random text.
    `api_url` is the simulated API, where `{host}` stands for host and port. `title_limit` is the longest title of a thread.
    `mentions` are texts that would notify people if the bot sent them. `webhook_text` is what a person writes so that the
    platform posts `{text}` to the webhook, without a relay.
    `user_id_is_home`: a user's private chat with the bot has the user's id, so it is the home if no other is set.
    `looks_up_chats`: a bot can ask the platform whether a chat exists. `has_token`: the first secret of the spec is a token.
    """

    spec: PlatformSpec
    people: Mapping[str, str]
    chats: tuple[SeededChat, ...]
    homes: Mapping[str, str]
    wire: str
    api_url: str
    title_limit: int = 0
    kinds: Mapping[str, ChatKind] = field(default_factory=dict)
    tint: tuple[str, str] = ("#5a6372", "#a3adbd")  # colours on a light and on a dark page
    markup: str = "markdown"  # or "entities": how the bot formats messages, for the page
    reply_threads: bool = False  # any message can start a thread
    relay: LocalRelay | None = None
    options: Any = None
    make_secrets: Callable[[], Mapping[str, str]] | None = None
    user_id_is_home: bool = False
    looks_up_chats: bool = True
    has_token: bool = True
    mentions: tuple[str, ...] = ("@everyone", "@here")
    webhook_text: str = "{text}"

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def service_secrets(self) -> tuple[str, ...]:
        """The names of the secrets that the service may use."""
        return (*self.spec.secrets, *self.spec.optional_secrets)

    def new_secrets(self) -> Mapping[str, str]:
        """Secrets of a simulated bot, by name."""
        if self.make_secrets is not None:
            return self.make_secrets()
        return {name: secrets.token_hex(16) for name in self.spec.secrets}


def load(reference: str) -> Any:
    """Import what `module:name` refers to."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)
