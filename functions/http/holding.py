"""Reads that may be held until there is news."""


class News:
    """What a client has seen: the version that it names, or the first one that is read."""

    def __init__(self, seen: str | None) -> None:
        self._seen = seen

    def has(self, version: str) -> bool:
        """Whether this version is news to the client."""
        self._seen = self._seen or version
        return version != self._seen
