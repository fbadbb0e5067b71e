"""The functions of a local run in this process, with hooks for tests."""

import importlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from local.cloud.engine import Engine
from local.cloud.stack import Stack
from shared.bootstrap import Handler, build_services
from shared.platforms import PLATFORMS
from shared.platforms.spec import PlatformSpec
from shared.services import Services
from shared.settings import Settings


@dataclass(frozen=True)
class Interceptors:
    """Wrap the AWS clients, services or handler of a function, by logical id; each returns what it was given by default."""

    client: Callable[[str, Any], Any] = field(default=lambda _function, client: client)
    services: Callable[[str, Services], Services] = field(default=lambda _function, services: services)
    handler: Callable[[str, Handler], Handler] = field(default=lambda _function, handler: handler)


class InProcessFunctions:
    """Builds handlers for InProcessInvoker: with the settings and the role of the template, and any list of platforms."""

    def __init__(
        self, engine: Engine, stack: Stack, interceptors: Interceptors, platforms: Sequence[PlatformSpec]
    ) -> None:
        self._engine, self._stack, self._interceptors, self._platforms = engine, stack, interceptors, platforms
        self._services: dict[str, Services] = {}
        self._lock = threading.Lock()

    def build(self, function: str) -> Handler:
        """A new handler; handlers of one function share their services."""
        with self._lock:
            if function not in self._services:
                services = services_of(
                    self._engine,
                    self._stack,
                    function,
                    interceptors=self._interceptors,
                    platforms=self._platforms,
                )
                self._services[function] = self._interceptors.services(function, services)
        module = importlib.import_module(self._stack.functions[function].handler.rpartition(".")[0])
        return self._interceptors.handler(function, module.build(self._services[function]))


def services_of(
    engine: Engine,
    stack: Stack,
    function: str,
    *,
    interceptors: Interceptors | None = None,
    platforms: Sequence[PlatformSpec] = PLATFORMS,
) -> Services:
    """The services of one function, with its settings and its role as in the template."""
    config = stack.functions[function]
    role = engine.assume(config.role_arn)
    wrap = (interceptors or Interceptors()).client
    return build_services(
        # Metrics are lines on the standard output, which belongs to the program that runs this process.
        replace(Settings.from_environment(config.environment), metrics_stack=""),
        client=lambda service: wrap(function, engine.client(service, role)),
        platforms=platforms,
    )
