"""One awslambdaric process with its Runtime API, its output and its end."""

import os
import threading
from collections.abc import Callable, Mapping

from local.cloud.runtime.api import Runtime, RuntimeApi
from local.cloud.runtime.nursery import Nursery, read_lines


class FunctionProcess:
    """Starts at once. `on_line` hears each line of output; `on_exit` is called once, with the exit status, when it is over."""

    def __init__(
        self,
        nursery: Nursery,
        runtime: Runtime,
        *,
        group: int,
        environment: Callable[[str], Mapping[str, str]],
        init_seconds: float,
        on_line: Callable[[str], None],
        on_exit: Callable[[int], None],
    ) -> None:
        self._nursery = nursery
        self._on_exit = on_exit
        self._status = 0
        self._dead = threading.Event()
        output, theirs = os.pipe()
        self._api = RuntimeApi(runtime)
        try:
            self.pid = nursery.spawn(
                environment(self._api.address), group=group, output=theirs, on_exit=self._ended, seconds=init_seconds
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
        """Sends SIGKILL; `on_exit` tells when it worked. Harmless when the process is gone already."""
        self._nursery.kill(self.pid)

    def wait_dead(self, seconds: float) -> bool:
        """Waits until the process runs no more; `on_exit` may not have heard of it yet."""
        return self._dead.wait(seconds)

    def join(self, seconds: float) -> None:
        """Waits until the process is over and `on_exit` has heard of it."""
        self._reaper.join(seconds)

    def _ended(self, status: int) -> None:
        self._status = status
        self._dead.set()

    def _reap(self) -> None:
        self._dead.wait()
        self._api.close()
        self._on_exit(self._status)
