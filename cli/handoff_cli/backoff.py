"""Pauses between repeated attempts."""

_MOST_DOUBLINGS = 16


def backoff(failures: int, *, first: float, longest: float = float("inf")) -> float:
    """The seconds to wait after that many failures: `first` is doubled by each, up to `longest`."""
    return min(longest, first * 2.0 ** min(failures, _MOST_DOUBLINGS))
