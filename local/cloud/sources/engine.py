"""What event sources ask of whatever plays AWS."""

from typing import Any, Protocol

from botocore.credentials import Credentials


class Engine(Protocol):
    """Clients, and a way to sleep until a table with a stream is written."""

    def assume(self, role_arn: str) -> Credentials: ...

    def client(self, service: str, credentials: Credentials | None = None) -> Any:
        """With the credentials of a role, or with the rights of the account itself."""
        ...

    def wait_for_writes(self, seen: int, timeout: float) -> int:
        """Blocks until the number of stream records differs from `seen`, at most `timeout` seconds; returns it."""
        ...
