"""WhatsApp in local runs."""

import secrets
from dataclasses import dataclass

from local.chats.spec import ChatKind, LocalChat, SeededChat
from shared.platforms.whatsapp import SPEC

PHONE_NUMBER_ID = "106540352242922"


@dataclass(frozen=True)
class WhatsAppOptions:
    """How strict the simulated WhatsApp is.

    A person gets at most `burst` messages at once, and one more each `every` seconds. WhatsApp's figure is 6 seconds; by
    default the simulation counts only bursts, so that a demonstration is not slowed down. `silent`: the seeded people
    have not written to the bot in the last 24 hours; by default they just have.
    """

    burst: int = 45
    every: float = 6 / 45
    silent: bool = False


def _secrets() -> dict[str, str]:
    return {
        "whatsapp/access_token": f"EAA{secrets.token_hex(24)}",
        "whatsapp/app_secret": secrets.token_hex(16),
        "whatsapp/verify_token": secrets.token_hex(16),
        "whatsapp/phone_number_id": PHONE_NUMBER_ID,
    }


CHAT = LocalChat(
    SPEC,
    people={"owner": "15550007001", "stranger": "15550007002", "bot": "15550009001"},
    chats=(
        SeededChat("15550007001", "Olivia and the bot", "chat", ("owner",)),
        SeededChat("15550007002", "Sam and the bot", "chat", ("stranger",)),
    ),
    homes={"owner": "15550007001"},
    wire="local.chats.whatsapp.wire.api:WhatsApp",
    api_url="http://{host}/whatsapp/v23.0",
    kinds={"chat": ChatKind("chat", "chat", "@", threads=False)},
    tint=("#10704a", "#4fd08f"),
    options=WhatsAppOptions(),
    make_secrets=_secrets,
    user_id_is_home=True,
    looks_up_chats=False,
)
