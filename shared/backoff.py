"""The pause before the next try."""


def backoff(tries: int, *, first: float, longest: float, factor: float = 2.0) -> float:
    """Seconds to wait after so many failed tries: `first` after one, then `factor` times more, at most `longest`."""
    return min(longest, first * factor ** min(tries - 1, 32))
