"""Secrets as SSM SecureString parameters below one path, read once per container."""

import threading
from collections.abc import Mapping
from typing import Any


class SsmSecrets:
    """The `Secrets` port. Nothing is read before the first `get`; a changed secret is seen by new containers only."""

    def __init__(self, client: Any, prefix: str) -> None:
        self._client = client
        self._prefix = prefix.rstrip("/")
        self._lock = threading.Lock()
        self._values: Mapping[str, str] | None = None

    def get(self, name: str) -> str | None:
        with self._lock:
            if self._values is None:
                self._values = self._read()
        return self._values.get(name)

    def _read(self) -> Mapping[str, str]:
        """Pages by hand: a botocore paginator first lists every service on disk."""
        values: dict[str, str] = {}
        more: dict[str, str] = {}
        while True:
            page = self._client.get_parameters_by_path(
                Path=self._prefix,  # without a slash at its end: IAM authorises the path as it is passed
                Recursive=True,
                WithDecryption=True,
                **more,
            )
            values |= {one["Name"].removeprefix(f"{self._prefix}/"): one["Value"] for one in page["Parameters"]}
            if not page.get("NextToken"):
                return values
            more = {"NextToken": page["NextToken"]}
