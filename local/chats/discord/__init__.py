"""Discord in local runs."""

import secrets
from dataclasses import dataclass

from local.chats.spec import ChatKind, LocalChat, LocalRelay, RelayOption, SeededChat
from shared.platforms.discord import SPEC


@dataclass(frozen=True)
class DiscordOptions:
    """The server and the application."""

    guild: str = "8001000000000000001"
    application: str = "9001000000000000001"


def _secrets() -> dict[str, str]:
    """The service never sees `signing_seed`: the simulator signs with it, the public key is its other half."""
    from nacl.signing import SigningKey  # noqa: PLC0415  # not needed with real bots

    seed = secrets.token_bytes(32)
    return {
        "discord/bot_token": f"OTAwMTAwMDAwMDAwMDAwMDAwMQ.{secrets.token_urlsafe(24)}",
        "discord/signing_seed": seed.hex(),
        "discord/public_key": SigningKey(seed).verify_key.encode().hex(),
        "discord/relay_secret": secrets.token_hex(16),
    }


CHAT = LocalChat(
    SPEC,
    people={"owner": "7001000000000000001", "stranger": "7002000000000000002", "bot": "9001000000000000001"},
    chats=(
        SeededChat("6001000000000000001", "agents", "text"),
        SeededChat("6002000000000000002", "ideas", "forum"),
        SeededChat("6003000000000000003", "Olivia and the bot", "dm", ("owner",)),
        SeededChat("6004000000000000004", "Sam and the bot", "dm", ("stranger",)),
    ),
    homes={"owner": "6001000000000000001", "other": "6002000000000000002"},
    wire="local.chats.discord.wire.api:Discord",
    api_url="http://{host}/discord/api/v10",
    title_limit=100,
    kinds={
        "text": ChatKind("text channel", "channel", names_people=True),
        "forum": ChatKind("forum", "forum", "≡", is_forum=True, accepts_messages=False, names_people=True),
        "dm": ChatKind("direct messages", "direct", "@", threads=False),
    },
    tint=("#4c56d8", "#98a0ff"),
    relay=LocalRelay(
        "local.chats.discord.relay:DiscordRelay",
        secrets=("discord/bot_token", "discord/relay_secret"),
        shared_secrets=("discord/relay_secret",),
        options=(
            RelayOption(
                "gateway_url",
                "Discord's Gateway, if not the real one",
                simulated_url="ws://{host}/discord/gateway",
            ),
        ),
        in_simulation=True,
        is_only_way=True,  # bots receive ordinary messages only through the Gateway
    ),
    options=DiscordOptions(),
    make_secrets=_secrets,
    mentions=("@everyone", "@here", "<@7002000000000000002>"),
    webhook_text="/say {text}",
)
