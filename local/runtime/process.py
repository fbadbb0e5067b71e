"""One awslambdaric process with its Runtime API, its output and its end."""

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from local.runtime.api import Runtime, RuntimeApi


class FunctionProcess:
    """Starts at once. `on_line` hears each line of output; `on_exit` is called once, with the exit status, when it is over."""

    def __init__(
        self,
        handler: str,
        runtime: Runtime,
        *,
        root: Path,
        group: int,
        environment: Callable[[str], Mapping[str, str]],
        on_line: Callable[[str], None],
        on_exit: Callable[[int], None],
    ) -> None:
        self._api = RuntimeApi(runtime)
        self._on_exit = on_exit
        self._dead = threading.Event()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "awslambdaric", handler],
                cwd=root,
                env=environment(self._api.address),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                process_group=group,
            )
        except BaseException:
            self._api.close()
            raise
        self.pid = self._process.pid
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        name = f"{handler} {self.pid}"
        threading.Thread(target=_read, args=(self._process.stdout, on_line), name=f"log {name}", daemon=True).start()
        self._reaper = threading.Thread(target=self._reap, name=f"reap {name}", daemon=True)
        self._reaper.start()

    def kill(self) -> None:
        """Sends SIGKILL; `on_exit` tells when it worked. Harmless when the process is gone already."""
        with suppress(ProcessLookupError):
            self._process.kill()

    def wait_dead(self, seconds: float) -> bool:
        """Waits until the process runs no more; `on_exit` may not have heard of it yet."""
        return self._dead.wait(seconds)

    def join(self, seconds: float) -> None:
        """Waits until the process is over and `on_exit` has heard of it."""
        self._reaper.join(seconds)

    def _reap(self) -> None:
        status = self._process.wait()
        self._dead.set()
        self._api.close()
        self._on_exit(status)


def _read(output: IO[bytes], on_line: Callable[[str], None]) -> None:
    with output:
        for raw in output:
            # awslambdaric joins the lines of a traceback with carriage returns and indents with no-break spaces.
            for line in raw.decode(errors="replace").replace("\u00a0", " ").rstrip().split("\r"):
                on_line(line)
