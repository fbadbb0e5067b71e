"""`handoff data` for a service on one machine."""

import argparse
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from local.chats import CHATS
from local.console import Console
from local.server.directory import DataDirectory, InUse, Unusable
from local.transfer.commands import NotMoved, export_to, import_from
from shared.domain.routes import Place
from shared.ports.tables import Item
from shared.sqlite.backup import opened
from shared.sqlite.database import Database
from shared.sqlite.files import DirectoryFiles
from shared.sqlite.schema import MIGRATIONS, version_of
from shared.sqlite.tables import SqliteTables
from shared.store.keys import home_key, identity_key, person_key
from shared.store.transfer.kinds import Kind


def export_data(asked: argparse.Namespace, console: Console) -> int:
    """Write what lasts to a file, also while the service runs. Raises Unusable, DataFileError."""
    directory = DataDirectory.at(asked.data)
    if not directory.database.exists():
        raise Unusable(f"{directory.path} has no database. Nothing was written. Name the directory with --data.")
    with opened(directory.database) as connection:
        if version_of(connection, directory.database) < len(MIGRATIONS):  # a service of that version may be running
            raise Unusable("The database is of an older version. Nothing was written. Start the service once first.")
    with closing(Database(directory.database)) as database, _explained():
        return export_to(
            SqliteTables(database),
            _path(asked),
            console,
            now=time.time_ns() // 1_000_000,
            files=DirectoryFiles(directory.files),
            force=asked.force,
            is_foreign=is_simulated,
        )


def import_data(asked: argparse.Namespace, console: Console) -> int:
    """Write the content of a file. Raises Unusable while the service runs, and DataFileError."""
    directory = DataDirectory.at(asked.data)
    directory.create()
    try:
        with directory.locked(), closing(Database(directory.database)) as database, _explained():
            files = DirectoryFiles(directory.files)
            files.prepare()
            code = import_from(SqliteTables(database), _path(asked), console, files=files, yes=asked.yes)
            database.sync()
            return code
    except InUse:
        raise InUse(f"The service is running on {directory.path}. Nothing was written. Stop it first.") from None


def is_simulated(kind: Kind, item: Item) -> bool:
    """Whether it links a user to a simulated person or chat: elsewhere, that id may belong to a real person."""
    key = {"pk": item.get("pk"), "sk": item.get("sk")}
    for chat in CHATS:
        person = chat.people["owner"]
        match kind:
            case Kind.PERSON if key == person_key(chat.name, person):
                return True
            case Kind.IDENTITY if key == identity_key("owner", chat.name, person):
                return True
            case Kind.HOME:
                homes = {(user, Place(chat.name, home).route) for user, home in chat.homes.items()}
                if any(key == home_key(user, chat.name) and item["route"] == route for user, route in homes):
                    return True
    return False


def _path(asked: argparse.Namespace) -> Path:
    path: Path = asked.file.expanduser().absolute()
    return path


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except NotMoved as refused:
        raise Unusable(str(refused)) from refused
    except OSError as error:
        raise Unusable(f"{error.filename}: {error.strerror}. Nothing was changed by this.") from error
