"""A process group that is killed when this process ends, also by SIGKILL, so that no function process is left behind."""

import subprocess
import threading

# The pipe closes when its only writer, this process, is gone; the shell then kills its whole group. The group also keeps a
# terminal's Ctrl-C away from the functions: the invoker stops them.
_WATCH = 'trap "" INT TERM HUP; read -r _; kill -KILL 0'


class ProcessGroup:
    """The group that function processes join. `close` kills all of them."""

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
