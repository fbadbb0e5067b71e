"""boto3 clients, created on first use: most invocations need one of them, and each costs start-up time."""

import threading
from typing import Any

_LOCK = threading.Lock()


class LazyClient:
    """A boto3 client that is created when its first operation is called."""

    def __init__(self, service: str, **options: Any) -> None:
        self._service = service
        self._options = options
        self._client: Any = None

    def load(self) -> None:
        """Create the client now. No request is sent: the first operation opens a connection."""
        if self._client is None:
            with _LOCK:  # boto3's default session is not thread-safe while it creates clients
                if self._client is None:
                    self._client = _make(self._service, self._options)

    def __getattr__(self, name: str) -> Any:
        self.load()
        return getattr(self._client, name)


def _make(service: str, options: dict[str, Any]) -> Any:
    import boto3  # noqa: PLC0415  # costs 0.2 s, so only functions that need a client import it
    from botocore.config import Config  # noqa: PLC0415  # likewise

    # Short time-outs and few retries: the queue's next attempt is cheaper than waiting inside a function.
    config = Config(
        connect_timeout=2,
        read_timeout=10,
        retries={"mode": "standard", "total_max_attempts": 4},
        max_pool_connections=50,
        tcp_keepalive=True,
        signature_version="s3v4"
        if service == "s3"
        else None,  # presigned URLs bind headers with it, and with no older one
        user_agent="handoff",  # botocore composes its default for each call, a sixth of the CPU time of a call
    )
    return boto3.client(service, config=config, **options)
