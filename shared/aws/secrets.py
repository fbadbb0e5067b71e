"""Secrets as SSM SecureString parameters, read once per container.

    <prefix>/telegram/bot_token     platforms, one path for all of them: every function that checks or calls them
    <prefix>-agent/key              the agent: only the function that runs it may read this path

IAM grants a whole path, so what only one function may read must not lie below the path of the others.
"""

import threading
from collections.abc import Mapping
from typing import Any

AGENT = "agent/"


def parameter_of(prefix: str, name: str) -> str:
    """The name of the SSM parameter that holds a secret."""
    prefix = prefix.rstrip("/")
    return f"{prefix}-{name}" if name.startswith(AGENT) else f"{prefix}/{name}"


class SsmSecrets:
    """The `Secrets` port. Nothing is read before the first `get`; a changed secret is seen by new containers only."""

    def __init__(self, client: Any, prefix: str) -> None:
        self._client = client
        self._prefix = prefix.rstrip("/")
        self._lock = threading.Lock()
        self._read: dict[str, Mapping[str, str]] = {}

    def get(self, name: str) -> str | None:
        path = f"{self._prefix}-agent" if name.startswith(AGENT) else self._prefix
        with self._lock:
            if path not in self._read:
                self._read[path] = self._values(path)
            return self._read[path].get(parameter_of(self._prefix, name))

    def _values(self, path: str) -> Mapping[str, str]:
        """Pages by hand: a botocore paginator first lists every service on disk."""
        values: dict[str, str] = {}
        more: dict[str, str] = {}
        while True:
            page = self._client.get_parameters_by_path(
                Path=path,  # without a slash at its end: IAM authorises the path as it is passed
                Recursive=True,
                WithDecryption=True,
                **more,
            )
            values |= {one["Name"]: one["Value"] for one in page["Parameters"]}
            if not page.get("NextToken"):
                return values
            more = {"NextToken": page["NextToken"]}
