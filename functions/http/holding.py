"""Reads that may be held until there is news."""

TOGETHER = 0.2
"""Seconds. The steps of a handoff come in bursts; told together they cost one answer. Its end is told at once."""


class News:
    """What a client has seen: the version that it names, or the first one that is read."""

    def __init__(self, seen: str | None) -> None:
        self._seen = seen

    def delay(self, version: str, *, is_urgent: bool) -> float | None:
        """How long the answer with this version may be delayed; None if the client has it (see `Changes.hold`)."""
        self._seen = self._seen or version
        if version == self._seen:
            return None
        return 0.0 if is_urgent else TOGETHER
