"""A process group that dies with us, however we die, so that no function process is ever left behind."""

import subprocess
import threading

# The pipe closes when its only writer is gone, be it by SIGKILL; the shell then takes its whole group along. The group
# also keeps a terminal's Ctrl-C away from the functions: stopping them is the invoker's business.
_WATCH = 'trap "" INT TERM HUP; read -r _; kill -KILL 0'


class Guard:
    """Holds the group that function processes join. `close` kills all of them at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._shell = self._watch()

    def group(self) -> int:
        """The id of the living group; a guard that somebody killed is replaced. Raises RuntimeError after `close`."""
        with self._lock:
            if self._closed:
                raise RuntimeError("The local runtime has stopped.")
            if self._shell.poll() is not None:
                self._shell = self._watch()
            return self._shell.pid

    def close(self) -> None:
        """Kills the group and returns once the guard itself is gone. May be called twice."""
        with self._lock:
            self._closed = True
            if self._shell.stdin is not None:
                self._shell.stdin.close()
            self._shell.wait()

    @staticmethod
    def _watch() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["/bin/sh", "-c", _WATCH],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
