"""Secrets in memory."""

from collections.abc import Mapping


class FakeSecrets:
    """The `Secrets` port on a dictionary; `requested` lists the names that were read."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self.values = dict(values or {})
        self.requested: list[str] = []

    def get(self, name: str) -> str | None:
        self.requested.append(name)
        return self.values.get(name)
