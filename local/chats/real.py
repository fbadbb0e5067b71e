"""Real chat platforms in a local run: which ones have a bot's token in the environment, and who may talk to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from local.chats.relays.configuration import RelaySettings, Target, make_relay
from local.chats.relays.relay import Relay
from shared.domain.routes import Place
from shared.ports.store import Store

USER = "owner"
ADDRESSES = ("TELEGRAM_API_URL", "SLACK_API_URL", "DISCORD_API_URL", "DISCORD_GATEWAY_URL")


@dataclass(frozen=True)
class RealPlatforms:
    """Platforms whose real bot is used instead of the simulator.

    `people` is the platform's own id of the person who may talk to the bot: nobody, if it is not set. `homes` is the chat
    where handoffs arrive; without one, `/sethome` in a chat sets it. `addresses` are those of a platform's API where it is
    not the public one: a self-hosted Bot API server, a proxy.
    """

    settings: RelaySettings = field(default_factory=RelaySettings)
    people: Mapping[str, str] = field(default_factory=dict)
    homes: Mapping[str, str] = field(default_factory=dict)
    addresses: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "RealPlatforms":
        """TELEGRAM_BOT_TOKEN and the like switch a platform on; TELEGRAM_USER_ID and TELEGRAM_HOME say who and where."""
        settings = RelaySettings.from_environment(environment)
        named = {platform: platform.upper() for platform in settings.platforms}
        people = {platform: environment.get(f"{name}_USER_ID", "") for platform, name in named.items()}
        homes = {platform: environment.get(f"{name}_HOME", "") for platform, name in named.items()}
        if people.get("telegram") and not homes["telegram"]:
            homes["telegram"] = people["telegram"]  # the private chat with the bot has the person's own id
        addresses = {name: environment[name] for name in ADDRESSES if environment.get(name)}
        return cls(settings.with_own_secrets() if named else settings, people, homes, addresses)

    @property
    def platforms(self) -> list[str]:
        return self.settings.platforms

    def urls(self) -> dict[str, dict[str, str]]:
        """The addresses of platforms that are not the public ones, for the setting PLATFORM_URLS."""
        given = {platform: self.addresses.get(f"{platform.upper()}_API_URL") for platform in self.platforms}
        return {platform: {"api": url} for platform, url in given.items() if url}

    def secrets(self) -> dict[str, str]:
        """What the functions need to talk to the real platforms, and to know that the relays are ours."""
        wanted = {
            "telegram": ("telegram_bot_token", "telegram_webhook_secret"),
            "slack": ("slack_bot_token", "slack_signing_secret"),
            "discord": ("discord_bot_token", "discord_relay_secret"),
        }
        return {
            name.replace("_", "/", 1): getattr(self.settings, name)
            for platform in self.platforms
            for name in wanted[platform]
        }

    def seed(self, store: Store) -> None:
        """Let the person in, and set their home."""
        for platform in self.platforms:
            if person := self.people.get(platform):
                store.accounts.add_identity(USER, platform, person)
            if home := self.homes.get(platform):
                store.accounts.set_home(USER, Place(platform, home))

    def relays(self, url: str) -> list[Relay]:
        """What brings messages in, without a tunnel."""
        return [make_relay(platform, self._target(platform, url), self.settings) for platform in self.platforms]

    def _target(self, platform: str, url: str) -> Target:
        gateway = self.addresses.get("DISCORD_GATEWAY_URL") if platform == "discord" else None
        return Target(url, api_url=self.addresses.get(f"{platform.upper()}_API_URL"), gateway_url=gateway)

    def described(self) -> list[str]:
        """One line for each real platform, with what is still missing."""
        return [
            _described(platform, self.people.get(platform), self.homes.get(platform)) for platform in self.platforms
        ]


def _described(platform: str, person: str | None, home: str | None) -> str:
    if not person:
        return f"{platform}: nobody may talk to the bot yet; set {platform.upper()}_USER_ID to your id there"
    if not home:
        return f"{platform}: send /sethome to the bot in the chat where handoffs are to arrive"
    return f"{platform}: handoffs arrive in chat {home}"
