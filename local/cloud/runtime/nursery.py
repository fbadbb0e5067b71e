"""Where the execution environments of one function come from: a process that has loaded it and forks one at a time."""

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

from local.cloud.runtime import zygote

OnExit = Callable[[int], None]


class EndedInInit(Exception):
    """The function's module was never loaded: loading it ended the process with this status, or took too long."""

    def __init__(self, status: int, *, too_long: bool = False) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.too_long = too_long


class Nursery:
    """One loaded function. `on_line` hears each line that loading it prints. It ends with `close`, or with its process."""

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
        self._awaited: OnExit | None = None
        self._born: list[int] = []
        self._status = 0
        self.alive = True
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", zygote.__file__, "-m", "awslambdaric", handler],
                cwd=root,
                env=environment,
                stdin=theirs.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                process_group=group,
            )
        name = f"{handler} {self._process.pid}"
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        read_lines(self._process.stdout, on_line, name=f"log {name}")
        threading.Thread(target=self._listen, name=f"nursery {name}", daemon=True).start()

    def spawn(self, environment: Mapping[str, str], *, group: int, output: int, on_exit: OnExit, seconds: float) -> int:
        """Forks one into a process group and returns its pid, once the function is loaded. Raises EndedInInit.

        `on_exit` is called once, with the exit status, on the thread that hears of births: it must not wait for one.
        """
        request = json.dumps({"group": group, "environment": environment}).encode()
        with self._one_at_a_time, self._changed:
            self._awaited = on_exit
            self._born.clear()  # one that came too late for whoever asked is nobody else's
            with suppress(OSError):  # it is gone, and `_listen` hears that too
                socket.send_fds(self._control, [request], [output])
            self._changed.wait_for(lambda: self._born or not self.alive, seconds)
            if self._born:
                return self._born.pop()
            if not self.alive:
                raise EndedInInit(self._status)
        self._process.kill()
        raise EndedInInit(-signal.SIGKILL, too_long=True)

    def kill(self, pid: int) -> None:
        """SIGKILL for one of its own; harmless when that is gone already."""
        with self._changed:
            if pid in self._children:
                _kill(pid)

    def close(self) -> None:
        """Ends it; what came from it is ended right behind. May be called twice."""
        self._process.kill()
        self._process.wait()

    def _listen(self) -> None:
        with self._control, self._control.makefile() as news, suppress(OSError):
            for line in news:
                self._hear(*line.split())
        status = self._process.wait()
        with self._changed:
            self._status, self.alive = status, False
            orphans = list(self._children)
            self._changed.notify_all()
        for pid in orphans:  # nobody is left who would tell of their end
            _kill(pid)
            self._hear("gone", str(pid), str(-signal.SIGKILL))

    def _hear(self, what: str, pid: str, *status: str) -> None:
        with self._changed:
            if what == "born":
                assert self._awaited is not None  # noqa: S101 - none is born unasked
                self._born.append(int(pid))
                self._children[int(pid)] = self._awaited
                self._changed.notify_all()
                return
            on_exit = self._children.pop(int(pid), None)
        if on_exit is not None:  # or it is a program that the function started while it was loaded
            on_exit(int(status[0]))


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def read_lines(output: IO[bytes], on_line: Callable[[str], None], *, name: str) -> None:
    """Tells each line of a process's output, in a thread of its own, until the output ends."""

    def read() -> None:
        with output:
            for raw in output:
                # awslambdaric joins the lines of a traceback with carriage returns and indents with no-break spaces.
                for line in raw.decode(errors="replace").replace("\u00a0", " ").rstrip().split("\r"):
                    on_line(line)

    threading.Thread(target=read, name=name, daemon=True).start()
