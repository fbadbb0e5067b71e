"""`handoff backup` and `handoff restore`."""

import argparse
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from local.console import Console
from local.server.directory import SIMULATED, DataDirectory, InUse, Unusable
from shared.sqlite.backup import back_up, restore
from shared.sqlite.files import copy_files


def back_up_to(asked: argparse.Namespace, console: Console) -> int:
    """Write a consistent copy of the database, and of the files beside it, also while the service runs.

    Raises Unusable, DataFileError.
    """
    directory = DataDirectory.at(asked.data)
    target: Path = asked.file.expanduser().absolute()
    if not directory.database.exists():
        raise Unusable(f"{directory.path} has no database. Nothing was written. Name the directory with --data.")
    if target.is_dir():
        raise Unusable(f"{target} is a directory. Nothing was written. Name a file in it.")
    if target.parent.resolve() == directory.path.resolve() and target.name in directory.names():
        raise Unusable(f"{target} belongs to the service. Nothing was written. Choose another file.")
    try:
        back_up(
            directory.database,
            target,
            replace=asked.force,
            progress=lambda part: console.progress(f"Copied {part:.0%} …"),
        )
    except FileExistsError:
        raise Unusable(f"{target} exists. Nothing was written. Choose another name, or add --force.") from None
    # After the database: each file that the copy names was there when it was made.
    files = copy_files(directory.files, _files_of(target))
    size, secrets = target.stat().st_size, _secrets_in(target)
    held = f"secrets: {', '.join(secrets)}" if secrets else "no token of a bot and no key of an agent"
    content = (
        "It holds all sessions with their transcripts, threads, users, hashes of their tokens, and what waits for an "
        f"answer; {held}. Not in it: settings, env, log, simulated chats."
    )
    lines = [f"Saved {size / 1e6:.1f} MB in {target}.", content]
    if files:
        lines.append(f"Files of the chats, {files / 1e6:.1f} MB, are in {_files_of(target)}: keep both together.")
    if target.stat().st_mode & 0o077:
        lines.append("Its disk knows no permissions: other users who can reach it can read it.")
    return console.done({"file": str(target), "bytes": size, "secrets": secrets}, "\n".join(lines))


def restore_from(asked: argparse.Namespace, console: Console) -> int:
    """Replace the database by a backup. Raises Unusable while the service runs, and DataFileError."""
    directory = DataDirectory.at(asked.data)
    source: Path = asked.file.expanduser().absolute()
    if source.resolve() == directory.database.resolve():
        raise Unusable(f"{source} is the database itself. Nothing was changed.")
    directory.create()
    try:
        with directory.locked():
            copy_files(_files_of(source), directory.files)  # before the database that names them
            kept = restore(source, directory.database, progress=lambda part: console.progress(f"Copied {part:.0%} …"))
    except InUse:
        raise InUse(
            f"The service is running on {directory.path} (process {directory.running()}). Nothing was changed. "
            "Stop it, then try again."
        ) from None
    lines = [f"Restored {source} into {directory.path}."]
    if kept:
        lines.append(f"What was there before is kept: {kept}")
    program = os.environ.get("HANDOFF_PROG") or "handoff"
    lines.append(f"Start the service: {program} up. It takes up what was under way when the backup was made.")
    return console.done({"data": str(directory.path), "kept": str(kept) if kept else None}, "\n".join(lines))


def _files_of(backup: Path) -> Path:
    """The directory beside a backup that has the files."""
    return backup.with_name(f"{backup.name}.files")


def _secrets_in(path: Path) -> list[str]:
    """The names of secrets in a backup; those of simulated bots open nothing."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        names = [str(name) for (name,) in connection.execute("SELECT name FROM secrets ORDER BY name")]
    return [name for name in names if not name.startswith(SIMULATED)]
