"""The database: is it ours, can this version read it, and is it sound?"""

from collections.abc import Iterator
from shlex import quote

from local.server.directory import DataDirectory
from local.server.maintenance.finding import Finding
from shared.errors import DataFileCorrupt, DataFileError, DataFileLocked, DataFileNewer, DataFileReadOnly
from shared.sqlite.backup import opened, problems_in
from shared.sqlite.schema import MIGRATIONS, version_of

UPGRADE = "pip install --upgrade 'handoff-live[server]'"


def database(directory: DataDirectory, restore: str) -> Iterator[Finding]:
    """`restore` is the command for a database that is damaged."""
    path = directory.database
    if not path.exists():
        yield Finding("database", ok=True, detail="none yet: the first start makes it")
        return
    try:
        with opened(path) as connection:
            version = version_of(connection, path)
            problems = problems_in(connection)
    except DataFileError as problem:
        yield Finding("database", ok=False, detail=str(problem), fix=_fix(problem, directory, restore))
        return
    if problems:
        detail = f"{path} is damaged: {problems[0][:160]}. Stop the service before you restore."
        yield Finding("database", ok=False, detail=detail, fix=restore)
        return
    older = "" if version == len(MIGRATIONS) else f"; the next start migrates it to {len(MIGRATIONS)}"
    yield Finding("database", ok=True, detail=f"sound, format {version}{older}")


def _fix(problem: DataFileError, directory: DataDirectory, restore: str) -> str:
    match problem:
        case DataFileNewer():
            return UPGRADE
        case DataFileReadOnly():
            return f"chmod u+rwX {quote(str(directory.path))} {quote(str(directory.database))}"
        case DataFileLocked():
            return f"fuser -v {quote(str(directory.database))}"
        case DataFileCorrupt():
            return restore
        case _:
            return f"mv {quote(str(directory.database))} {quote(f'{directory.database}.foreign')}"
