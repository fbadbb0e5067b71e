"""Integrity of a SQLite file."""

from shared.sqlite.database import Database


def damage_in(database: Database) -> list[str]:
    """What is wrong with the whole file. Empty: it is sound."""
    with database.reading() as connection:
        rows = [text for (text,) in connection.execute("PRAGMA integrity_check(20)")]
    return [] if rows == ["ok"] else rows
