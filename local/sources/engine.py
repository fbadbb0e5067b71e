"""What event sources ask of whatever plays AWS."""

from typing import Any, Protocol


class Engine(Protocol):
    """Clients with the rights of the account itself, and a way to sleep until a table with a stream is written."""

    def client(self, service: str) -> Any: ...

    def wait_for_writes(self, seen: int, timeout: float) -> int:
        """Blocks until the number of stream records differs from `seen`, at most `timeout` seconds; returns it."""
        ...
