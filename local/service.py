"""The whole service on one machine: template, functions, event sources, API and simulated chats."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self, TypeVar

from local.chats import CHATS
from local.chats.real import RealBots
from local.chats.relays.base import Relay
from local.chats.relays.configuration import make_relay
from local.chats.simulator import Simulator
from local.chats.spec import LocalChat
from local.cloud.cloud import Cloud
from local.cloud.engine import Engine
from local.cloud.invoke import Invoker
from local.cloud.stack import Stack
from local.functions import InProcessFunctions, Interceptors
from local.paths import ROOT, TEMPLATE, TRANSLATED
from local.users import seed_users
from local.watcher import Watcher
from shared.aws.secrets import parameter_of
from shared.aws.tables import DynamoTables
from shared.platforms import PLATFORMS
from shared.platforms.spec import PlatformSpec
from shared.ports.store import Store
from shared.store.bundle import store_on

T = TypeVar("T")
WARM = {f"{name}Function": 1 for name in ("Status", "Request", "Process", "Turn", "Agent", "Webhook")}
CAPACITY = {
    "MaxConcurrentTurns": "50",
    "MaxConcurrentPlaces": "50",
    "ParallelHandoffs": "10",
    "MaxOpenHandoffs": "0",
    "MaxTurnsPerHour": "0",
    "MaxStoredMegabytes": "0",
}
"""This machine has no quota of concurrent functions and no bill, for which the template's defaults are made."""


class LocalService:
    """Use it as a context manager. `mode`: functions run in real runtime processes, or in threads of this one for tests."""

    def __init__(
        self,
        *,
        mode: Literal["runtime", "in_process"] = "runtime",
        chats: Sequence[LocalChat] = CHATS,
        api_port: int = 0,
        page_port: int = 0,
        parameters: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        real: RealBots | None = None,
        watcher: Watcher | None = None,
        interceptors: Interceptors | None = None,
        warm: Mapping[str, int] = WARM,
        on_phase: Callable[[str, str, int], None] | None = None,
    ) -> None:
        """Tests inject faults with `interceptors` (in_process) or `on_phase` (runtime).

        In in_process mode `chats` may hold platforms that shared.platforms does not list.
        """
        self._mode = mode
        self.chats = chats
        self._api_port = api_port
        self._page_port = page_port
        self._parameters = dict(parameters or {})
        self._secrets = dict(secrets or {})
        self.real = real or RealBots()
        self._watcher = watcher or Watcher()
        self._interceptors = interceptors or Interceptors()
        self._on_phase = on_phase
        self._warm = warm
        self._stops: list[Callable[[], Any]] = []

    def start(self) -> Self:
        """Everything is up when this returns; after an error nothing is left running."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop everything in reverse order of its start. A second call does nothing."""
        while self._stops:
            self._stops.pop()()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> None:
        self.simulator = start_at(self._start_simulator, self._page_port)
        self._stops.append(self.simulator.stop)
        self.cloud = Cloud()
        self._stops.append(self.cloud.stop)
        self.cloud.deploy(TEMPLATE, self._deployed_parameters(), name="handoff", cache=TRANSLATED)
        self._put_secrets()
        self.tokens = seed_users(self.store, self._simulated)
        self.real.seed(self.store)
        if self._mode == "in_process":
            functions = InProcessFunctions(self.engine, self.stack, self._interceptors, self._specs())
            self.cloud.run_threads(functions.build)
        else:
            self.cloud.run_processes(ROOT, warm=self._warm, on_log=self._watcher.on_log, on_phase=self._on_phase)
        self.cloud.start_sources(self._watcher.on_error)
        self.api = start_at(lambda port: self.cloud.serve(port, self._watcher.on_answer), self._api_port)
        self.simulator.webhook_url = self.api.url
        self.relays = [*self._simulated_relays(), *self.real.relays(self.api.url)]
        for relay in self.relays:
            self._stops.append(relay.stop)
            relay.start()

    @property
    def url(self) -> str:
        return self.api.url

    @property
    def engine(self) -> Engine:
        return self.cloud.engine

    @property
    def stack(self) -> Stack:
        return self.cloud.stack

    @property
    def invoker(self) -> Invoker:
        return self.cloud.invoker

    @property
    def store(self) -> Store:
        """The tables, with the permissions of the account."""
        return store_of(self.engine, self.stack)

    def sweep_now(self) -> None:
        """Run the scheduled functions now."""
        self.cloud.fire_schedules()

    @property
    def _simulated(self) -> list[LocalChat]:
        """The platforms without a real bot."""
        return [chat for chat in self.chats if chat.name not in self.real.platforms]

    def _deployed_parameters(self) -> dict[str, str]:
        """The given parameters, and the addresses of all platforms that are not at their public ones."""
        urls: dict[str, dict[str, str]] = {
            chat.name: {"api": self.simulator.api_url(chat.name), "link": self.simulator.link_url(chat.name)}
            for chat in self._simulated
        }
        urls |= {name: {"api": url} for name, url in self.real.api_urls().items()}
        for platform, given in json.loads(self._parameters.get("PlatformUrls", "{}")).items():
            urls[platform] = {**urls.get(platform, {}), **given}
        return {**CAPACITY, **self._parameters, "PlatformUrls": json.dumps(urls)}

    def _put_secrets(self) -> None:
        simulated = self.simulator.secrets
        names = [name for chat in self.chats for name in chat.service_secrets if name in simulated]
        secrets = {**{name: simulated[name] for name in names}, **self.real.secrets(), **self._secrets}
        put_secrets(self.engine.client("ssm"), self.stack.outputs["SecretsPrefix"], secrets)

    def _simulated_relays(self) -> list[Relay]:
        """Relays for platforms that send messages only over a connection which the bot opens."""
        simulator = self.simulator
        return [
            make_relay(
                chat,
                self.api.url,
                simulator.secrets,
                api_url=simulator.api_url(chat.name),
                options=simulator.relay_options(chat.name),
            )
            for chat in self._simulated
            if chat.relay and chat.relay.in_simulation
        ]

    def _specs(self) -> list[PlatformSpec]:
        """The listed platforms, and those that only `chats` holds."""
        local = {chat.name: chat.spec for chat in self.chats}
        return list(({spec.name: spec for spec in PLATFORMS} | local).values())

    def _start_simulator(self, port: int) -> Simulator:
        simulator = Simulator(self.chats)
        simulator.start(port)
        return simulator


def start_at(start: Callable[[int], T], port: int) -> T:
    """Start on the usual port, or on a free one if it is taken."""
    try:
        return start(port)
    except OSError:
        if port == 0:
            raise
        return start(0)


def store_of(engine: Engine, stack: Stack) -> Store:
    """The store of a local stack, with the permissions of the account."""
    names = stack.resources
    client = engine.client("dynamodb")
    return store_on(DynamoTables(client, handoffs=names["HandoffsTable"], sessions=names["SessionsTable"]))


def put_secrets(ssm: Any, prefix: str, secrets: Mapping[str, str]) -> None:
    """Set secrets, as the operator of a deployment does."""
    for name, value in secrets.items():
        ssm.put_parameter(Name=parameter_of(prefix, name), Value=value, Type="SecureString", Overwrite=True)
