"""Runs functions in processes of the real runtime: a pool for each function of a stack."""

import logging
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from botocore.credentials import Credentials

from local.cloud.invoke import REQUEST_LIMIT, Result, encode, too_large
from local.cloud.runtime.api import Runtime
from local.cloud.runtime.fork_server import ForkServer
from local.cloud.runtime.pool import OnPhase, Pool
from local.cloud.runtime.process import FunctionProcess, environment_of
from local.cloud.stack import FunctionConfig, Stack

LOG = logging.getLogger(__name__)
POOL_LIMIT = 20
INIT_SECONDS = 60.0  # Lambda's limit is 10 s, on a dedicated processor
IDLE_SECONDS = 60.0  # Lambda keeps idle processes for minutes; a laptop needs its memory back sooner
# The pipe closes when its only writer, this process, is gone; the shell then kills its whole group. The group also keeps a
# terminal's Ctrl-C away from the functions: the invoker stops them.
_WATCH = 'trap "" INT TERM HUP; read -r _; kill -KILL 0'


class RuntimeInvoker:
    """Runs every event in an `awslambdaric` process, one at a time each, under the role of its function.

    `credentials(role_arn)` is called once per function. `on_log(function, line)` receives all output. `on_phase(function,
    phase, pid)` is called at started, ready, taken, answered and exited, and blocks the process while it runs, so that
    tests can kill it at a chosen moment.
    """

    def __init__(
        self,
        stack: Stack,
        *,
        endpoint: str,
        root: Path,
        credentials: Callable[[str], Credentials],
        on_log: Callable[[str, str], None] | None = None,
        on_phase: OnPhase | None = None,
        limit: int = POOL_LIMIT,
        init_seconds: float = INIT_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._stack = stack
        self._endpoint = endpoint
        self._root = root
        self._credentials = credentials
        self._on_log = _safe(on_log)
        self._on_phase = _safe(on_phase)
        self._path = os.environ.get("PATH", os.defpath)  # the only variable of this process that functions see
        self._warm: dict[str, int] = {}
        self._group = ProcessGroup()
        self._fork_servers: dict[str, ForkServer] = {}
        self._lock = threading.Lock()
        self._init_seconds = init_seconds
        self._idle_seconds = idle_seconds
        self._pools = {name: self._pool(config, limit) for name, config in stack.functions.items()}

    def invoke(self, function: str, event: Mapping[str, Any]) -> Result:
        body = encode(event)
        return self._pools[function].invoke(body) if len(body) <= REQUEST_LIMIT else too_large(len(body))

    def warm(self, counts: Mapping[str, int]) -> None:
        """Start processes ahead of events, and keep that many; do not wait for them."""
        self._warm = dict(counts)
        for function, count in counts.items():
            self._pools[function].keep(count)
            self._fork_server(self._stack.functions[function])  # all functions load at the same time
        threading.Thread(target=self._prepare, name="warming", daemon=True).start()

    def wait_warm(self, seconds: float = INIT_SECONDS) -> bool:
        """Wait until all processes of `warm` are ready for their first event; return False if some will not be."""
        until = time.monotonic() + seconds
        return all(
            self._pools[function].wait_ready(count, until - time.monotonic()) for function, count in self._warm.items()
        )

    def _prepare(self) -> None:
        for function, count in self._warm.items():
            self._pools[function].prepare(count)

    def pids(self, function: str | None = None) -> tuple[int, ...]:
        """Return the processes of one function, or of all."""
        pools = self._pools.values() if function is None else [self._pools[function]]
        return tuple(pid for pool in pools for pid in pool.pids())

    def kill(self, function: str, pid: int | None = None) -> tuple[int, ...]:
        """Send SIGKILL to one process of the function or to all; return the pids when they are dead."""
        return self._pools[function].kill(pid)

    def close(self) -> None:
        """End all processes; events in progress fail. May be called twice."""
        for pool in self._pools.values():
            pool.close()
        self._group.close()
        with self._lock:
            for fork_server in self._fork_servers.values():
                fork_server.close()

    def _fork_server(self, config: FunctionConfig) -> ForkServer:
        """Return the fork server of this function; start one if there is none or it has died."""
        with self._lock:
            fork_server = self._fork_servers.get(config.logical_id)
            if fork_server is None or not fork_server.alive:
                fork_server = self._fork_servers[config.logical_id] = ForkServer(
                    config.handler,
                    root=self._root,
                    group=self._group.id(),
                    environment=environment_of(
                        config,
                        endpoint=self._endpoint,
                        root=self._root,
                        path=self._path,
                        credentials=self._credentials(config.role_arn),
                    ),
                    on_line=lambda line: self._on_log(config.logical_id, line),
                )
            return fork_server

    def _pool(self, config: FunctionConfig, limit: int) -> Pool:
        def launch(runtime: Runtime, on_exit: Callable[[int], None]) -> FunctionProcess:
            return FunctionProcess(
                self._fork_server(config),
                runtime,
                group=self._group.id(),
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


def _safe(listener: Callable[..., None] | None) -> Callable[..., None]:
    """Return a listener that never raises: an unread line would block the function, a lost phase its event."""

    def call(*arguments: object) -> None:
        try:
            if listener is not None:
                listener(*arguments)
        except Exception:
            LOG.exception("A listener of the runtime failed")

    return call


class ProcessGroup:
    """The group that function processes join. It is killed by `close`, or when this process ends, also by SIGKILL."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._leader = self._start()

    def id(self) -> int:
        """Return the group's id; start a new leader if the last was killed. Raises RuntimeError after `close`."""
        with self._lock:
            if self._closed:
                raise RuntimeError("The local runtime has stopped.")
            if self._leader.poll() is not None:
                self._leader = self._start()
            return self._leader.pid

    def close(self) -> None:
        """Kill the group and return once its leader has exited. May be called twice."""
        with self._lock:
            self._closed = True
            if self._leader.stdin is not None:
                self._leader.stdin.close()
            self._leader.wait()

    @staticmethod
    def _start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["/bin/sh", "-c", _WATCH],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
