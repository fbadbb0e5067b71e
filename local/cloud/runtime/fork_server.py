"""A process that has loaded one function and forks an execution environment on request."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from local.cloud.runtime import fork_server_main

OnExit = Callable[[int], None]


class EndedInInit(Exception):
    """Loading the function's module ended the process with this status, or took too long."""

    def __init__(self, status: int, *, timed_out: bool = False) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.timed_out = timed_out


class ForkServer:
    """One loaded function. `on_line` receives each line that loading it prints. Runs until `close` or until it dies."""

    def __init__(
        self,
        handler: str,
        *,
        root: Path,
        group: int,
        environment: Mapping[str, str],
        on_line: Callable[[str], None],
    ) -> None:
        self._changed = threading.Condition()
        self._one_at_a_time = threading.Lock()
        self._children: dict[int, OnExit] = {}
        self._requested: OnExit | None = None
        self._started: list[int] = []
        self._status = 0
        self.alive = True
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", fork_server_main.__file__, "-m", "awslambdaric", handler],
                cwd=root,
                env=environment,
                stdin=theirs.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                process_group=group,
            )
        name = f"{handler} {self._process.pid}"
        assert self._process.stdout is not None  # noqa: S101 - for mypy: stdout=PIPE
        read_lines(self._process.stdout, on_line, name=f"log {name}")
        threading.Thread(target=self._listen, name=f"fork server {name}", daemon=True).start()

    def spawn(self, environment: Mapping[str, str], *, group: int, output: int, on_exit: OnExit, seconds: float) -> int:
        """Fork a child into a process group, once the function is loaded; return its pid. Raises EndedInInit.

        `on_exit` is called once, with the exit status, on the thread that receives messages: it must not call `spawn`.
        """
        request = json.dumps({"group": group, "environment": environment}).encode()
        with self._one_at_a_time, self._changed:
            self._requested = on_exit
            self._started.clear()  # a child of an earlier request that timed out
            with suppress(OSError):  # the server died; `_listen` notices as well
                socket.send_fds(self._control, [request], [output])
            self._changed.wait_for(lambda: self._started or not self.alive, seconds)
            if self._started:
                return self._started.pop()
            if not self.alive:
                raise EndedInInit(self._status)
        self._process.kill()
        raise EndedInInit(-signal.SIGKILL, timed_out=True)

    def kill(self, pid: int) -> None:
        """Send SIGKILL to a child; does nothing if it has exited."""
        with self._changed:
            if pid in self._children:
                _kill(pid)

    def close(self) -> None:
        """Kill the server, and then its children. May be called twice."""
        self._process.kill()
        self._process.wait()

    def _listen(self) -> None:
        with self._control, self._control.makefile() as messages, suppress(OSError):
            for line in messages:
                self._receive(*line.split())
        status = self._process.wait()
        with self._changed:
            self._status, self.alive = status, False
            orphans = list(self._children)
            self._changed.notify_all()
        for pid in orphans:  # the server can no longer report their exit
            _kill(pid)
            self._receive("exited", str(pid), str(-signal.SIGKILL))

    def _receive(self, message: str, pid: str, *status: str) -> None:
        with self._changed:
            if message == "started":
                assert self._requested is not None  # noqa: S101 - for mypy: children start on request only
                self._started.append(int(pid))
                self._children[int(pid)] = self._requested
                self._changed.notify_all()
                return
            on_exit = self._children.pop(int(pid), None)
        if on_exit is not None:  # None: a program that the function started while it was loaded
            on_exit(int(status[0]))


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def read_lines(output: IO[bytes], on_line: Callable[[str], None], *, name: str) -> None:
    """Call `on_line` with each line of a process's output, on a new thread, until the output ends."""

    def read() -> None:
        with output:
            for raw in output:
                # awslambdaric joins the lines of a traceback with carriage returns and indents with no-break spaces.
                for line in raw.decode(errors="replace").replace("\u00a0", " ").rstrip().split("\r"):
                    on_line(line)

    threading.Thread(target=read, name=name, daemon=True).start()
