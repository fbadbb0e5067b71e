"""The invoker of the real runtime: a pool of processes for each function of a stack."""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from local.cloud.invoke import REQUEST_LIMIT, Result, encode, too_large
from local.cloud.runtime.api import Runtime
from local.cloud.runtime.environment import Credentials, of_function, of_process
from local.cloud.runtime.guard import Guard
from local.cloud.runtime.nursery import Nursery
from local.cloud.runtime.pool import OnPhase, Pool
from local.cloud.runtime.process import FunctionProcess
from local.cloud.stack import FunctionConfig, Stack

LOG = logging.getLogger(__name__)
POOL_LIMIT = 20
INIT_SECONDS = 60.0  # Lambda's limit is 10 s, on a processor that no one else uses
IDLE_SECONDS = 60.0  # Lambda keeps what a crowd has left behind for minutes; a laptop's memory has other uses


class Endpoint(Protocol):
    """Whatever plays AWS."""

    @property
    def url(self) -> str: ...


class RuntimeInvoker:
    """Runs every event in a real `awslambdaric` process, one at a time each, under the role that the stack gives.

    `credentials(role_arn)` is asked once per function. `on_log(function, line)` hears all output. `on_phase(function,
    phase, pid)` hears of started, ready, taken, answered and gone, and holds the process up while it runs: the place to
    kill one at a chosen moment.
    """

    def __init__(
        self,
        stack: Stack,
        engine: Endpoint,
        *,
        root: Path,
        credentials: Callable[[str], Credentials],
        on_log: Callable[[str, str], None] | None = None,
        on_phase: OnPhase | None = None,
        limit: int = POOL_LIMIT,
        init_seconds: float = INIT_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._stack = stack
        self._engine = engine
        self._root = root
        self._credentials = credentials
        self._on_log = _heard(on_log)
        self._on_phase = _heard(on_phase)
        self._path = os.environ.get("PATH", os.defpath)  # all that a function sees of our environment
        self._warm: dict[str, int] = {}
        self._guard = Guard()
        self._nurseries: dict[str, Nursery] = {}
        self._lock = threading.Lock()
        self._init_seconds = init_seconds
        self._idle_seconds = idle_seconds
        self._pools = {name: self._pool(config, limit) for name, config in stack.functions.items()}

    def invoke(self, function: str, event: Mapping[str, Any]) -> Result:
        body = encode(event)
        return self._pools[function].invoke(body) if len(body) <= REQUEST_LIMIT else too_large(len(body))

    def warm(self, counts: Mapping[str, int]) -> None:
        """Starts processes ahead of events, and keeps that many; does not wait for them."""
        self._warm = dict(counts)
        for function, count in counts.items():
            self._pools[function].crew.keep(count)
            self._nursery(self._stack.functions[function])  # all load at once
        threading.Thread(target=self._prepare, name="warming", daemon=True).start()

    def wait_warm(self, seconds: float = INIT_SECONDS) -> bool:
        """Waits until all that `warm` asked for are ready for their first event; False if some will not be."""
        until = time.monotonic() + seconds
        left = self._warm.items()
        return all(self._pools[one].crew.wait_ready(count, until - time.monotonic()) for one, count in left)

    def _prepare(self) -> None:
        for function, count in self._warm.items():
            self._pools[function].crew.prepare(count)

    def pids(self, function: str | None = None) -> tuple[int, ...]:
        """The living processes of one function, or of all."""
        pools = self._pools.values() if function is None else [self._pools[function]]
        return tuple(pid for pool in pools for pid in pool.crew.pids())

    def kill(self, function: str, pid: int | None = None) -> tuple[int, ...]:
        """SIGKILL for one process of the function, or for all of them; they are dead when this returns who they were."""
        return self._pools[function].crew.kill(pid)

    def close(self) -> None:
        """Ends everything at once; events in flight fail. May be called twice."""
        for pool in self._pools.values():
            pool.close()
        self._guard.close()
        with self._lock:
            for nursery in self._nurseries.values():
                nursery.close()

    def _nursery(self, config: FunctionConfig) -> Nursery:
        """The one of this function; a new one if that has died."""
        with self._lock:
            nursery = self._nurseries.get(config.logical_id)
            if nursery is None or not nursery.alive:
                nursery = self._nurseries[config.logical_id] = Nursery(
                    config.handler,
                    root=self._root,
                    group=self._guard.group(),
                    environment=of_function(
                        config,
                        endpoint=self._engine.url,
                        root=self._root,
                        path=self._path,
                        credentials=self._credentials(config.role_arn),
                    ),
                    on_line=lambda line: self._on_log(config.logical_id, line),
                )
            return nursery

    def _pool(self, config: FunctionConfig, limit: int) -> Pool:
        def launch(runtime: Runtime, on_exit: Callable[[int], None]) -> FunctionProcess:
            return FunctionProcess(
                self._nursery(config),
                runtime,
                group=self._guard.group(),
                environment=lambda api: of_process(api=api),
                init_seconds=self._init_seconds,
                on_line=lambda line: self._on_log(config.logical_id, line),
                on_exit=on_exit,
            )

        return Pool(
            config,
            launch,
            limit=limit,
            init_seconds=self._init_seconds,
            idle_seconds=self._idle_seconds,
            on_phase=self._on_phase,
        )


def _heard(listener: Callable[..., None] | None) -> Callable[..., None]:
    """A listener that cannot hurt: a line that nobody reads would block the function, a lost phase its event."""

    def tell(*news: object) -> None:
        try:
            if listener is not None:
                listener(*news)
        except Exception:
            LOG.exception("A listener of the runtime failed")

    return tell
