"""Figures of one run, each with the load of the machine at that moment, and what they are made of."""

import math
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Seconds = float
_PIECE, _PIECES = 50_000, 5


@dataclass
class Figures:
    """Named numbers: seconds, megabytes or ratios.

    `loads` is the load average when each was noted, `paces` the seconds that a fixed piece of Python took then: the
    processor of a virtual machine may be slower by half from one minute to the next.
    """

    values: dict[str, float] = field(default_factory=dict)
    loads: dict[str, float] = field(default_factory=dict)
    paces: dict[str, float] = field(default_factory=dict)

    def note(self, name: str, value: float) -> None:
        self.values[name] = value
        self.loads[name] = os.getloadavg()[0]
        self.paces[name] = pace()

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def ratio(self, name: str, to: str) -> float | None:
        """None if one of them was not measured in this run."""
        return self.values[name] / self.values[to] if name in self.values and to in self.values else None


def p50(values: Sequence[float]) -> float:
    return statistics.median(values)


def p95(values: Sequence[float]) -> float:
    """The smallest value that 95 % of all do not exceed."""
    return sorted(values)[math.ceil(len(values) * 0.95) - 1]


def timed(work: Callable[[], object]) -> Seconds:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def pace() -> Seconds:
    """How long a fixed piece of Python takes at the moment: the shortest of some, so that a pause does not count."""
    return min(timed(lambda: sum(number * number for number in range(_PIECE))) for _ in range(_PIECES))


def megabytes(pid: int) -> float:
    """The resident memory of a process."""
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)  # noqa: S607  # ps is where the system has it
    return int(shown.stdout) / 1000


def cpu_seconds(pid: int) -> Seconds | None:
    """The processor time of a process, which other load on the machine hardly changes; None where there is no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    user, system = int(fields[11]), int(fields[12])
    return (user + system) / os.sysconf("SC_CLK_TCK")


def machine() -> str:
    """Cores, memory and system of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}"
    )
