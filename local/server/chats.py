"""The chats of a run: real bots if there are any, else simulated ones, with which the service can be tried."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from local.chats import CHATS
from local.chats.real import RealBots
from local.chats.relays.base import Relay
from local.chats.relays.configuration import make_relay, missing, secrets_from, variable
from local.chats.spec import LocalChat
from local.server.directory import SIMULATED, Refused
from local.users import link_simulated, unlink_simulated
from shared.sqlite.secrets import SqliteSecrets
from shared.store.bundle import Store

if TYPE_CHECKING:
    from local.chats.simulator import Simulator

LINKED = f"{SIMULATED}linked"
"""Set while the users are linked to simulated people."""


def open_chats(
    environment: Mapping[str, str], secrets: SqliteSecrets, *, has_public_url: bool, journal: Path, port: int
) -> "tuple[RealBots, RealChats | SimulatedChats]":
    """The real bots, and the chats. Tokens of bots come from the environment, or from the file. Raises Refused."""
    in_file = {variable(name): secrets.get(name) or "" for name in secrets.names()}
    known = {**in_file, **environment}
    bots = RealBots.from_environment(known)
    if not bots.bots:
        return bots, SimulatedChats(secrets, journal, port)
    chats = RealChats(bots, secrets, has_public_url=has_public_url)
    if wrong := list(chats.faults(known)):
        raise Refused("\n".join([*wrong, "Nothing was started."]))
    return bots, chats


class SimulatedChats:
    """All platforms, in this process."""

    def __init__(self, secrets: SqliteSecrets, journal: Path, port: int, chats: Sequence[LocalChat] = CHATS) -> None:
        from local.chats.simulator import Simulator  # noqa: PLC0415  # not needed with real bots

        self._chats, self._secrets = chats, secrets
        self.simulator = _start_at(port, lambda: Simulator(chats, secrets=_kept(secrets, chats), journal=journal))

    def secrets(self) -> Mapping[str, str]:
        names = {name for chat in self._chats for name in chat.service_secrets}
        return {name: value for name, value in self.simulator.secrets.items() if name in names}

    def platform_urls(self) -> Mapping[str, Mapping[str, str]]:
        of = self.simulator
        return {chat.name: {"api": of.api_url(chat.name), "link": of.link_url(chat.name)} for chat in self._chats}

    def seed(self, store: Store) -> None:
        self._secrets.set(LINKED, "yes")
        link_simulated(store, self._chats)

    def post_to(self, url: str) -> None:
        """Send webhooks to the service at this URL."""
        self.simulator.webhook_url = url

    def relays(self, url: str) -> list[Relay]:
        """The relays of platforms that need one, not started. Imports their SDKs."""
        return [
            make_relay(
                chat,
                url,
                self.simulator.secrets,
                api_url=self.simulator.api_url(chat.name),
                options=self.simulator.relay_options(chat.name),
            )
            for chat in self._chats
            if chat.relay and chat.relay.in_simulation
        ]

    def close(self) -> None:
        self.simulator.stop()


class RealChats:
    """The platforms whose bots are configured."""

    simulator = None

    def __init__(self, bots: RealBots, secrets: SqliteSecrets, *, has_public_url: bool) -> None:
        self.bots, self._secrets = bots, secrets
        self._has_public_url = has_public_url

    def secrets(self) -> Mapping[str, str]:
        return self.bots.secrets()

    def faults(self, environment: Mapping[str, str]) -> Iterator[str]:
        """One sentence each: a platform that needs a public URL without one, and secrets that it needs to post there.

        Those are not generated here.
        """
        for bot in self.bots.bots:
            relay = bot.chat.relay
            if relay is None and not self._has_public_url:
                yield (
                    f"{bot.chat.spec.title} only posts to a public address. Start with --public-url https://…, behind a "
                    f"reverse proxy with TLS: docs/platforms/{bot.name}.md."
                )
            if relay and not relay.is_only_way and self._has_public_url:
                for name in missing(relay.shared_secrets, secrets_from(environment, [bot.chat])):
                    yield (
                        f"{name} is not set. With --public-url {bot.chat.spec.title} posts to this service, and signs with "
                        f"it. Set the bot up for that: handoff setup {bot.name} --public-url URL"
                    )

    def platform_urls(self) -> Mapping[str, Mapping[str, str]]:
        return {name: {"api": url} for name, url in self.bots.api_urls().items()}

    def seed(self, store: Store) -> None:
        """Link the user of each bot that names one.

        After a run with simulated chats, their people and homes are unlinked first, once: such an id may be a real
        person's here.
        """
        if self._secrets.get(LINKED):
            unlink_simulated(store, CHATS)
            self._secrets.set(LINKED, None)
        self.bots.seed(store)

    def post_to(self, url: str) -> None:
        """Real platforms learn the public URL from their own settings."""

    def relays(self, url: str) -> list[Relay]:
        """The relays, not started. Imports their SDKs. With a public URL the platforms post there, except those that never do."""
        specs = {bot.name: bot.chat.relay for bot in self.bots.bots}
        return [
            relay
            for relay in self.bots.relays(url)
            if not self._has_public_url or ((spec := specs[relay.platform]) and spec.is_only_way)
        ]

    def close(self) -> None:
        return


def _kept(secrets: SqliteSecrets, chats: Sequence[LocalChat]) -> dict[str, str]:
    """The secrets of the simulated bots: those of the first run."""
    fresh = {name: value for chat in chats for name, value in chat.new_secrets().items()}
    for name, value in fresh.items():
        known = secrets.get(SIMULATED + name)
        if known is None:
            secrets.set(SIMULATED + name, value)
        else:
            fresh[name] = known
    return fresh


def _start_at(port: int, make: "Callable[[], Simulator]") -> "Simulator":
    """Start on the usual port, or on a free one if it is taken."""
    simulator = make()
    try:
        simulator.start(port)
    except OSError:
        simulator = make()
        simulator.start(0)
    return simulator
