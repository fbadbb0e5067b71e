"""Tokens of real bots and the secrets that relays sign with, and the relay that each set makes."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from local.chats.relays.relay import Relay


@dataclass(frozen=True)
class RelaySettings:
    """Each field is the environment variable of the same name in capitals; an empty one is not set."""

    telegram_bot_token: str = field(default="", repr=False)
    telegram_webhook_secret: str = field(default="", repr=False)
    slack_bot_token: str = field(default="", repr=False)
    slack_app_token: str = field(default="", repr=False)
    slack_signing_secret: str = field(default="", repr=False)
    discord_bot_token: str = field(default="", repr=False)
    discord_relay_secret: str = field(default="", repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "RelaySettings":
        """What is set there."""
        return cls(**{one.name: environment.get(one.name.upper(), "").strip() for one in fields(cls)})

    def with_own_secrets(self) -> "RelaySettings":
        """The same, with a fresh secret where none is set: enough where service and relay are of one run."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        fresh = {name: secrets.token_hex(32) for name, value in given.items() if name.endswith("_secret") and not value}
        return RelaySettings(**given | fresh)

    def missing(self, platform: str) -> list[str]:
        """The variables without which this platform's relay cannot run."""
        return [name.upper() for name in NEEDED[platform] if not getattr(self, name)]

    @property
    def platforms(self) -> list[str]:
        """The platforms with real bots: those whose tokens are all set."""
        tokens = {platform: [name for name in names if name.endswith("_token")] for platform, names in NEEDED.items()}
        tokens["slack"].append("slack_bot_token")  # the relay needs none, but without it the bot cannot answer
        return [platform for platform, names in tokens.items() if all(getattr(self, name) for name in names)]

    @property
    def hidden(self) -> list[str]:
        """Everything that must not be seen in a log."""
        return [value for one in fields(self) if (value := getattr(self, one.name))]


NEEDED: Mapping[str, tuple[str, ...]] = {
    "telegram": ("telegram_bot_token", "telegram_webhook_secret"),
    "slack": ("slack_app_token", "slack_signing_secret"),
    "discord": ("discord_bot_token", "discord_relay_secret"),
}


API_URLS: Mapping[str, str] = {
    "telegram": "https://api.telegram.org/bot",
    "slack": "https://slack.com/api/",
    "discord": "https://discord.com/api/v10",
}
GATEWAY_URL = "wss://gateway.discord.gg/"


@dataclass(frozen=True)
class Target:
    """Where the webhook function is, and the platform if it is another than the real one."""

    url: str
    api_url: str | None = None
    gateway_url: str | None = None
    replace_webhook: bool = False


def make_relay(platform: str, target: Target, settings: RelaySettings) -> Relay:
    """The platform's relay, not started. Its SDK is loaded here, so that nobody loads those that are not used."""
    api_url = target.api_url or API_URLS[platform]
    if platform == "telegram":
        from local.chats.telegram.relay import TelegramRelay  # noqa: PLC0415  # see above

        return TelegramRelay(
            target.url,
            token=settings.telegram_bot_token,
            secret=settings.telegram_webhook_secret,
            replace_webhook=target.replace_webhook,
            api_url=api_url,
        )
    if platform == "slack":
        from local.chats.slack.relay import SlackRelay  # noqa: PLC0415  # see above

        return SlackRelay(
            target.url,
            app_token=settings.slack_app_token,
            signing_secret=settings.slack_signing_secret,
            api_url=api_url,
        )
    from local.chats.discord.relay import DiscordRelay  # noqa: PLC0415  # see above

    return DiscordRelay(
        target.url,
        token=settings.discord_bot_token,
        secret=settings.discord_relay_secret,
        api_url=api_url,
        gateway_url=target.gateway_url or GATEWAY_URL,
    )
