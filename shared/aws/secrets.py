"""Secrets as SSM SecureString parameters, read once per container, and again if one is missing.

    <prefix>/telegram/bot_token     platforms, one path for all of them: every function that checks or calls them
    <prefix>-agent/key              the agent: only the function that runs it may read this path

IAM grants a whole path, so what only one function may read must not lie below the path of the others.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

AGENT = "agent/"
MISSING_SECONDS = 60.0
"""How long a secret that was not there is taken to be missing."""


def parameter_of(prefix: str, name: str) -> str:
    """The name of the SSM parameter that holds a secret."""
    prefix = prefix.rstrip("/")
    return f"{prefix}-{name}" if name.startswith(AGENT) else f"{prefix}/{name}"


class SsmSecrets:
    """The `Secrets` port. Nothing is read before the first `get`.

    A secret that was added is seen within a minute, so that a bot can be set up while functions run; a changed one is
    seen by new containers only.
    """

    def __init__(self, client: Any, prefix: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._prefix = prefix.rstrip("/")
        self._lock = threading.Lock()
        self._read: dict[str, Mapping[str, str]] = {}
        self._read_at: dict[str, float] = {}

    def get(self, name: str) -> str | None:
        path = f"{self._prefix}-agent" if name.startswith(AGENT) else self._prefix
        parameter, now = parameter_of(self._prefix, name), self._clock()
        with self._lock:
            is_old = now - self._read_at.get(path, now) > MISSING_SECONDS
            if path not in self._read or (is_old and parameter not in self._read[path]):
                # What was read before stays: clients are made with it.
                self._read[path] = {**self._values(path), **self._read.get(path, {})}
                self._read_at[path] = now
            return self._read[path].get(parameter)

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
