"""Polling of a handoff or a session: the service holds each request until something changes, or says how long to wait."""

from collections.abc import Callable

from handoff_cli.api.transport import Json

_SHORTEST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0


class HeldPoll:
    """Reads one resource again and again. `first_pause` counts where the service says nothing; it doubles up to 1 s."""

    def __init__(
        self,
        read: Callable[[float, str | None], Json],
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        longest_wait: float,
        first_pause: float = _LONGEST_PAUSE,
    ) -> None:
        """`read` gets the seconds for which the service may hold it, and the version that is known."""
        self._read, self._clock, self._sleep = read, clock, sleep
        self._longest_wait = longest_wait
        self._usual = first_pause
        self._pause = 0.0

    def next(self, known: Json, *, wait: float) -> Json:
        """The next state; waits before it as the last answer asked for. `wait` is the longest that it may be held."""
        self._sleep(self._pause)
        asked, seen = self._clock(), known.get("version")
        wait = min(wait, self._longest_wait)
        found = self._read(wait, seen)
        is_news = wait > 0 and seen is not None and found.get("version") != seen
        self._pause = self._pause_after(found, is_news=is_news, took=self._clock() - asked)
        return found

    def _pause_after(self, found: Json, *, is_news: bool, took: float) -> float:
        """The seconds before the next request: what the service says. One that held this request says 0."""
        said = found.get("poll_after_ms")
        if said:
            return max(_SHORTEST_PAUSE, float(said) / 1000)
        if is_news:
            return 0.0
        if said == 0:
            return max(0.0, _SHORTEST_PAUSE - took)  # a service that did not hold it, after all
        usual = self._usual
        self._usual = min(max(usual, _LONGEST_PAUSE), usual * 2)
        return max(0.0, usual - took)
