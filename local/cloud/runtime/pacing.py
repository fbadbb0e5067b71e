"""When another process is worth its start: a laptop's cores are few, and a start costs as much as many answers."""

UNKNOWN = 0.02  # patience while nothing was measured yet: most answers are quicker than this
WEIGHT = 0.3  # of the newest measurement


class Pacing:
    """Learns how long a function's starts and runs take. A start includes the first event, in which functions read their
    secrets and open connections. Guarded by the pool's lock.
    """

    def __init__(self) -> None:
        self._start: float | None = None
        self._run: float | None = None

    def started_in(self, seconds: float) -> None:
        self._start = _blend(self._start, seconds)

    def ran_for(self, seconds: float) -> None:
        self._run = _blend(self._run, seconds)

    def patience(self, *, ahead: int, processes: int, running_for: float) -> float:
        """Seconds to wait with `ahead` events before this one; every process has been busy for `running_for` at least."""
        if self._start is None or self._run is None or processes == 0:
            return UNKNOWN
        expected = max(self._run, running_for) * (ahead + 1) / processes
        return self._start if expected < self._start else 0.0


def _blend(known: float | None, seconds: float) -> float:
    return seconds if known is None else (1 - WEIGHT) * known + WEIGHT * seconds
