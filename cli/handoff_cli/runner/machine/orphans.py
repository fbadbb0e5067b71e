"""End an agent that a runner left behind when it was killed. Nothing can answer it any more."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from handoff_cli.runner.acp.process import group_alive
from handoff_cli.runner.machine.locks import Lock

_LOOK_SECONDS = 0.02


def started_at(pid: int) -> str:
    """When a process began, in a form that only serves to compare: ids of processes are used again."""
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    with suppress(OSError, subprocess.SubprocessError):
        command = ["ps", "-o", "lstart=", "-p", str(pid)]
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=False).stdout.strip()  # noqa: S603 - fixed words and a number
    return ""


def note_agent(lock: Lock, pid: int) -> None:
    """Write down which process group runs the session."""
    lock.note(pid=pid, started=started_at(pid))


def end_orphan(lock: Lock, patience: float) -> bool:
    """End the agent that the lock's last holder noted, if it still runs; True if there was one.

    It is killed if it has not ended after `patience` seconds.
    Only for the one runner of the machine: no other process may be driving that agent.
    """
    holder = lock.holder()
    pid, started = holder.get("pid"), holder.get("started")
    if not isinstance(pid, int) or pid <= 1 or not started or started_at(pid) != started:
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)
        for _ in range(int(patience / _LOOK_SECONDS)):
            if not group_alive(pid):
                return True
            time.sleep(_LOOK_SECONDS)
    return True
