"""End an agent that a runner left behind when it was killed. Nothing can answer it any more."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from handoff_cli.runner.machine.groups import group_alive
from handoff_cli.runner.machine.locks import Lock
from handoff_cli.runner.machine.sessions import HandedOver

_LOOK_SECONDS = 0.02


def started_at(pid: int) -> str:
    """When a process began, in a form that only serves to compare: ids of processes are used again."""
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    with suppress(OSError, subprocess.SubprocessError):
        command = ["ps", "-o", "lstart=", "-p", str(pid)]
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=False).stdout.strip()  # noqa: S603 - fixed words and a number
    return ""


def note_agent(lock: Lock, pid: int, session: HandedOver) -> None:
    """Write down which process group runs the session."""
    lock.note(pid=pid, started=started_at(pid), agent=session.agent, session=session.session_id)


def noted_agent(lock: Lock) -> int | None:
    """The process group that the lock's last holder noted, if it still runs."""
    holder = lock.holder()
    pid, started = holder.get("pid"), holder.get("started")
    if not isinstance(pid, int) or pid <= 1 or not started or started_at(pid) != started:
        return None
    return pid if group_alive(pid) else None


def end_orphan(lock: Lock, patience: float) -> bool:
    """End the agent that the lock's last holder noted, if it still runs; True if there was one.

    It is killed if it has not ended after `patience` seconds.
    Only for the one runner of the machine, when it drives no such agent; and where the session is not its any more.
    """
    pid = noted_agent(lock)
    if pid is None:
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)
        for _ in range(int(patience / _LOOK_SECONDS)):
            if not group_alive(pid):
                return True
            time.sleep(_LOOK_SECONDS)
    return True
