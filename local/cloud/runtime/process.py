"""One awslambdaric process with its Runtime API, its output and its exit."""

import os
import threading
from collections.abc import Callable, Mapping

from local.cloud.runtime.api import Runtime, RuntimeApi
from local.cloud.runtime.fork_server import ForkServer, read_lines


class FunctionProcess:
    """Starts at once. `on_line` receives each line of output; `on_exit` is called once, with the exit status."""

    def __init__(
        self,
        fork_server: ForkServer,
        runtime: Runtime,
        *,
        group: int,
        environment: Callable[[str], Mapping[str, str]],
        init_seconds: float,
        on_line: Callable[[str], None],
        on_exit: Callable[[int], None],
    ) -> None:
        self._fork_server = fork_server
        self._on_exit = on_exit
        self._status = 0
        self._dead = threading.Event()
        output, theirs = os.pipe()
        self._api = RuntimeApi(runtime)
        try:
            self.pid = fork_server.spawn(
                environment(self._api.address), group=group, output=theirs, on_exit=self._died, seconds=init_seconds
            )
        except BaseException:
            self._api.close()
            os.close(output)
            raise
        finally:
            os.close(theirs)
        read_lines(os.fdopen(output, "rb"), on_line, name=f"log {self.pid}")
        self._reaper = threading.Thread(target=self._reap, name=f"reap {self.pid}", daemon=True)
        self._reaper.start()

    def kill(self) -> None:
        """Send SIGKILL; `on_exit` follows. Does nothing if the process has exited."""
        self._fork_server.kill(self.pid)

    def wait_dead(self, seconds: float) -> bool:
        """Wait until the process has exited; `on_exit` may not have been called yet."""
        return self._dead.wait(seconds)

    def join(self, seconds: float) -> None:
        """Wait until the process has exited and `on_exit` has returned."""
        self._reaper.join(seconds)

    def _died(self, status: int) -> None:
        self._status = status
        self._dead.set()

    def _reap(self) -> None:
        self._dead.wait()
        self._api.close()
        self._on_exit(self._status)
