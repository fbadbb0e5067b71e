"""The whole service on one machine: the template deployed to the engine, its functions, events, API and simulator."""

import importlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeVar

from local.chats.real import RealPlatforms
from local.chats.relays.configuration import RelaySettings, Target, make_relay
from local.chats.relays.relay import Relay
from local.chats.simulator.simulator import Simulator
from local.chats.simulator.world import PLATFORMS, Platform
from local.cloud.cloud import Cloud
from local.cloud.engine import Engine
from local.cloud.invoke import Invoker
from local.cloud.stack import Stack
from local.paths import ROOT, TEMPLATE, TRANSLATED
from local.seed import put_secrets, seed_users, simulated_secrets, store_of
from shared.bootstrap import Handler, build_services
from shared.ports.store import Store
from shared.services import Services
from shared.settings import Settings

T = TypeVar("T")
WARM = {"StatusFunction": 1, "RequestFunction": 1, "ProcessFunction": 1, "TurnFunction": 1, "WebhookFunction": 1}


@dataclass(frozen=True)
class Watcher:
    """Who hears what happens: log lines of functions, answered requests, our own faults. Nothing of what is said reaches it."""

    on_log: Callable[[str, str], None] = field(default=lambda _function, _line: None)
    on_answer: Callable[[str, str, int, float], None] = field(default=lambda _method, _path, _status, _seconds: None)
    on_error: Callable[[Exception], None] = field(default=lambda _error: None)


@dataclass(frozen=True)
class Between:
    """What stands between a function in this process and the world, by logical id: nothing, unless a test puts it there."""

    client: Callable[[str, Any], Any] = field(default=lambda _function, client: client)
    services: Callable[[str, Services], Services] = field(default=lambda _function, services: services)
    handler: Callable[[str, Handler], Handler] = field(default=lambda _function, handler: handler)


class LocalService:
    """Start it, stop it. `mode` is how functions run: real runtime processes, or threads of this one for fast tests."""

    def __init__(
        self,
        *,
        mode: Literal["runtime", "in_process"] = "runtime",
        api_port: int = 0,
        page_port: int = 0,
        parameters: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        real: RealPlatforms | None = None,
        watcher: Watcher | None = None,
        between: Between | None = None,
        warm: Mapping[str, int] = WARM,
        on_phase: Callable[[str, str, int], None] | None = None,
    ) -> None:
        """`between` is for functions in this process, `on_phase` for runtime processes: both are ways to break them."""
        self._mode = mode
        self._api_port = api_port
        self._page_port = page_port
        self._parameters = dict(parameters or {})
        self._secrets = dict(secrets or {})
        self.real = real or RealPlatforms()
        self._watcher = watcher or Watcher()
        self._between = between or Between()
        self._on_phase = on_phase
        self._warm = warm
        self._stops: list[Callable[[], Any]] = []
        self._services: dict[str, Services] = {}
        self._lock = threading.Lock()

    def start(self) -> Self:
        """Everything is up when this returns; on an error nothing is left running."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """The newest first, as each leans on the older ones. May be called twice."""
        while self._stops:
            self._stops.pop()()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> None:
        self.simulator = start_at(_simulator_at, self._page_port)
        self._stops.append(self.simulator.stop)
        self.cloud = Cloud()
        self._stops.append(self.cloud.stop)
        self.cloud.deploy(TEMPLATE, self._deployed_parameters(), name="handoff", cache=TRANSLATED)
        prefix = self.stack.outputs["SecretsPrefix"]
        secrets = {**simulated_secrets(self.simulator.credentials), **self.real.secrets(), **self._secrets}
        put_secrets(self.engine.client("ssm"), prefix, secrets)
        self.tokens = seed_users(self.store, self._played)
        self.real.seed(self.store)
        if self._mode == "in_process":
            self.cloud.run_threads(self._build)
        else:
            self.cloud.run_processes(ROOT, warm=self._warm, on_log=self._watcher.on_log, on_phase=self._on_phase)
        self.cloud.start_sources(self._watcher.on_error)
        self.api = start_at(lambda port: self.cloud.serve(port, self._watcher.on_answer), self._api_port)
        self.simulator.webhook_url = self.api.url
        self.relays = [*self._simulated_relays(), *self.real.relays(self.api.url)]
        for relay in self.relays:
            self._begin(relay.start, relay.stop)

    def _begin(self, start: Callable[[], Any], stop: Callable[[], Any]) -> None:
        self._stops.append(stop)
        start()

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
        """The tables, read and written with the rights of the account itself."""
        return store_of(self.engine, self.stack)

    def sweep_now(self) -> None:
        """Run the schedule's function without waiting for its minute."""
        self.cloud.fire_schedules()

    def _deployed_parameters(self) -> dict[str, str]:
        """The given parameters; addresses of single platforms that are given override the simulated ones."""
        urls = {**self._simulated(), **self.real.urls()}
        for platform, given in json.loads(self._parameters.get("PlatformUrls", "{}")).items():
            urls[platform] = {**urls.get(platform, {}), **given}
        return {**self._parameters, "PlatformUrls": json.dumps(urls)}

    def _simulated(self) -> dict[str, dict[str, str]]:
        """The addresses of the simulated platforms; real ones keep their public addresses."""
        api = {
            "telegram": self.simulator.telegram_api_url,
            "slack": self.simulator.slack_api_url,
            "discord": self.simulator.discord_api_url,
        }
        return {
            platform: {"api": api[platform], "link": self.simulator.link_url(platform)} for platform in self._played
        }

    @property
    def _played(self) -> list[Platform]:
        """The platforms that the simulator plays."""
        return [platform for platform in PLATFORMS if platform not in self.real.platforms]

    def _simulated_relays(self) -> list[Relay]:
        """Discord tells a bot of ordinary messages only over its Gateway: the same relay that a deployment runs."""
        if "discord" in self.real.platforms:
            return []
        simulator = self.simulator
        settings = RelaySettings(
            discord_bot_token=simulator.credentials.discord_bot_token,
            discord_relay_secret=simulator.credentials.discord_relay_secret,
        )
        target = Target(self.api.url, api_url=simulator.discord_api_url, gateway_url=simulator.discord_gateway_url)
        return [make_relay("discord", target, settings)]

    def _build(self, function: str) -> Handler:
        """A handler in this process, on the services of its function: same settings, same role."""
        config = self.stack.functions[function]
        with self._lock:
            if function not in self._services:
                services = services_of(self.engine, self.stack, function, between=self._between)
                self._services[function] = self._between.services(function, services)
        module = importlib.import_module(config.handler.rpartition(".")[0])
        return self._between.handler(function, module.build(self._services[function]))


def _simulator_at(port: int) -> Simulator:
    simulator = Simulator()
    simulator.start(port)
    return simulator


def services_of(engine: Engine, stack: Stack, function: str, *, between: Between | None = None) -> Services:
    """The services of one function as the template configures it, under the role that the template gives it."""
    config = stack.functions[function]
    role = engine.assume(config.role_arn)
    wrap = (between or Between()).client
    return build_services(
        Settings.from_environment(config.environment),
        client=lambda service: wrap(function, engine.client(service, role)),
    )


def start_at(start: Callable[[int], T], port: int) -> T:
    """Start on the port that people remember, or on a free one if it is taken."""
    try:
        return start(port)
    except OSError:
        if port == 0:
            raise
        return start(0)
