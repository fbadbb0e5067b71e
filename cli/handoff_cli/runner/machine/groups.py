"""Process groups: whether one runs, and how much memory it needs."""

import os
from pathlib import Path

_HAS_PROC = Path("/proc/self/stat").exists()


def group_alive(group: int) -> bool:
    """Does the process group have a member that runs? Zombies that nothing reaps do not count."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        # macOS answers a group of zombies with the second one.
        return False
    return not _HAS_PROC or bool(group_members(group))


def group_members(group: int) -> list[int]:
    """The processes of the group that run, where the system tells them."""
    states = ((int(stat.parent.name), _state(stat)) for stat in Path("/proc").glob("[0-9]*/stat"))
    return [pid for pid, state in states if state and state[0] == group and state[1] not in "ZX"]


def _state(stat: Path) -> tuple[int, str] | None:
    """(process group, state) of a process, as Linux tells it."""
    try:
        fields = stat.read_text("utf-8", "replace").rpartition(")")[2].split()
        return int(fields[2]), fields[0]
    except (OSError, ValueError, IndexError):
        return None


def group_memory(group: int) -> int | None:
    """In bytes, what it shares with others counted in part; None if this system does not tell."""
    found = [_proportional(pid) for pid in group_members(group)]
    known = [size for size in found if size is not None]
    return sum(known) if known else None


def _proportional(pid: int) -> int | None:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines()
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), None)
    except (OSError, ValueError, IndexError):
        return None
