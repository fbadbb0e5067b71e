"""Throw-away secrets that the simulator and the service share: the simulator checks tokens and signs with the rest."""

import secrets
from dataclasses import dataclass, field

from nacl.signing import SigningKey


def _telegram_token() -> str:
    return f"9001:{secrets.token_urlsafe(26)[:35]}"


@dataclass(frozen=True)
class Credentials:
    """One set of secrets for one run; every field has a fresh random default."""

    telegram_token: str = field(default_factory=_telegram_token)
    telegram_webhook_secret: str = field(default_factory=lambda: secrets.token_hex(16))
    slack_bot_token: str = field(default_factory=lambda: f"xoxb-{secrets.token_hex(16)}")
    slack_app_token: str = field(default_factory=lambda: f"xapp-1-A0HANDOFF-{secrets.token_hex(16)}")
    slack_signing_secret: str = field(default_factory=lambda: secrets.token_hex(16))
    discord_bot_token: str = field(default_factory=lambda: f"OTAwMTAwMDAwMDAwMDAwMDAwMQ.{secrets.token_urlsafe(24)}")
    discord_signing_seed: str = field(default_factory=lambda: secrets.token_hex(32))
    discord_relay_secret: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def discord_signing_key(self) -> SigningKey:
        return SigningKey(bytes.fromhex(self.discord_signing_seed))

    @property
    def discord_public_key(self) -> str:
        """Hex, as Discord's developer portal shows it."""
        return self.discord_signing_key.verify_key.encode().hex()
