"""Secrets in the file, which only its user can read."""

from collections.abc import Mapping
from dataclasses import dataclass

from shared.sqlite.database import Database


@dataclass(frozen=True)
class SqliteSecrets:
    """The `Secrets` port. A changed secret is seen at once."""

    database: Database

    def get(self, name: str) -> str | None:
        with self.database.reading() as connection:
            row = connection.execute("SELECT value FROM secrets WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else None

    def names(self) -> list[str]:
        """The names of all secrets that are set."""
        with self.database.reading() as connection:
            return [name for (name,) in connection.execute("SELECT name FROM secrets ORDER BY name")]

    def set(self, name: str, value: str | None) -> None:
        """Set a secret, or remove it (None). It is on the disk when this returns."""
        self.set_all({name: value})

    def set_all(self, values: Mapping[str, str | None]) -> None:
        """Set or remove (None) all of these in one step. They are on the disk when this returns."""
        with self.database.writing() as connection:
            for name, value in values.items():
                connection.execute("DELETE FROM secrets WHERE name = ?", (name,))
                if value is not None:
                    connection.execute("INSERT INTO secrets VALUES (?, ?)", (name, value))
        self.database.sync()
