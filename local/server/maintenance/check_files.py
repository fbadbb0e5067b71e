"""The directory: who can read it, whether there is room, and what went wrong of late."""

import os
import pwd
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from shlex import quote

from local.server.directory import DataDirectory
from local.server.maintenance.finding import Finding

ROOM = 200_000_000
"""Bytes that should be free: a copy before a migration, the log, and some use."""
DAY = 24 * 3600
TAIL = 1_000_000
_SHOWN = 160


def modes(directory: DataDirectory) -> Iterator[Finding]:
    """Secrets, tokens and transcripts are for this user only."""
    path = directory.path
    entries = list(_entries(path))
    strangers = [each for each, state in entries if state.st_uid != os.getuid()]
    if strangers:
        user = pwd.getpwuid(os.getuid()).pw_name
        detail = f"{strangers[0]} belongs to another user."
        yield Finding("data", ok=False, detail=detail, fix=f"sudo chown -R {user} {quote(str(path))}")
    opened = [each for each, state in entries if not stat.S_ISLNK(state.st_mode) and state.st_mode & 0o077]
    if opened:
        detail = f"Other users of this machine can use {', '.join(each.name for each in opened)} in {path.parent}."
        yield Finding("data", ok=False, detail=detail, fix=f"chmod -R go= {quote(str(path))}")
    if not strangers and not opened:
        yield Finding("data", ok=True, detail=f"{path}, only you can read it")


def _entries(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The directory and what is in it. A service that runs replaces files: one that is gone by now is not there."""
    for each in (path, *path.iterdir()):
        with suppress(FileNotFoundError):
            yield each, each.lstat()


def disk(directory: DataDirectory) -> Finding:
    free = shutil.disk_usage(directory.path).free
    size = directory.database.stat().st_size if directory.database.exists() else 0
    detail = f"{free / 1e9:.1f} GB are free; the database has {size / 1e6:.1f} MB"
    if free > max(ROOM, 2 * size):
        return Finding("disk", ok=True, detail=detail)
    fix = f"free some space; what is large here: du -sh {quote(str(directory.path))}/*"
    return Finding("disk", ok=False, detail=f"{detail}. It needs room for a copy.", fix=fix)


def log(directory: DataDirectory, *, now: float | None = None) -> Finding:
    """Errors of the last day. The log holds neither texts nor secrets, so a line of it may be shown."""
    since = (time.time() if now is None else now) - DAY
    found = [line for line in _lines(directory.log) if _is_error(line, since)]
    if not found:
        return Finding("log", ok=True, detail="no errors in the last 24 hours")
    detail = f"{len(found)} errors in the last 24 hours, the last one: {found[-1][:_SHOWN]}"
    return Finding("log", ok=None, detail=detail, fix=f"grep -A20 ' ERROR ' {quote(str(directory.log))} | tail -50")


def _lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL))
            return file.read().decode(errors="replace").splitlines()
    except OSError:
        return []


def _is_error(line: str, since: float) -> bool:
    moment, level = line[:23], line[24:].partition(" ")[0]
    try:
        return level in ("ERROR", "CRITICAL") and datetime.strptime(moment, "%Y-%m-%d %H:%M:%S,%f").timestamp() > since  # noqa: DTZ007  # the log has local time
    except ValueError:
        return False
