"""Export to a file and import from one, for tables of any kind."""

import gzip
import os
import tempfile
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

from local.console import Console
from local.transfer.data_file import DamagedFile, line_of, read_header, records_in, write_file
from shared.ports.tables import Item, Tables
from shared.store.transfer.export import Export, SessionChanging
from shared.store.transfer.kinds import MOVED, Kind, kind_of
from shared.store.transfer.write import AlreadyThere, conflicts, write

_LISTED = 10


class NotMoved(Exception):
    """Nothing was exported, or the import has ended early. The text is for a person."""


def export_to(
    tables: Tables,
    path: Path,
    console: Console,
    *,
    now: int,
    force: bool = False,
    is_foreign: Callable[[Kind, Item], bool] = lambda _kind, _item: False,
) -> int:
    """Write everything that lasts to a new file that only this user can read. Raises NotMoved, OSError.

    Refuses while something is under way, unless forced: it would be lost.
    """
    if path.exists():
        raise NotMoved(f"{path} exists. Nothing was written. Choose another name.")
    export = Export(tables, now, is_foreign)
    with tempfile.TemporaryDirectory(prefix=".handoff-", dir=path.parent) as scratch:
        spool, fresh = Path(scratch) / "sessions", Path(scratch) / "export"
        _spool(export, spool, console)
        blocking = _described(export.blocking)
        if blocking and not force:
            raise NotMoved(
                f"Under way are {blocking}. They cannot move. Nothing was written. Wait until they are done, or add "
                "--force to leave them out."
            )
        before = [line_of(record) for record in export.before()]
        after = (line_of(record) for record in export.after())
        header = {"created_at": now, "counts": _counts(export), "left_out": _named(export.left_out)}
        with gzip.open(spool, "rb") as sessions:
            write_file(fresh, header, chain(before, sessions, after))
        try:
            path.hardlink_to(fresh)
        except FileExistsError:
            raise NotMoved(f"{path} exists. Nothing was written. Choose another name.") from None
        except OSError:
            fresh.replace(path)
    counts = _counts(export)
    lines = [
        f"Exported {counts['sessions']} sessions with {counts['messages']} messages, {counts['users']} users to {path}."
    ]
    if left_out := _described(export.left_out):
        lines.append(f"Left out: {left_out}.")
    lines.append(
        "It holds transcripts and hashes of tokens, no tokens and no secrets. Stop the old service for good before"
    )
    lines.append("the new one starts: of two that run, both would answer in the same threads.")
    return console.done({"file": str(path), **header}, "\n".join(lines))


def import_from(tables: Tables, path: Path, console: Console) -> int:
    """Write what a file holds, where nothing is yet. Raises NotMoved, OSError.

    Nothing is written if the file is not whole, or if the target has another item under one of its keys.
    """
    try:
        header = read_header(path)
        _check_kinds(path)
    except DamagedFile as damaged:
        raise NotMoved(f"{damaged} Nothing was written.") from damaged
    console.progress("Comparing with what is there …")
    if there := conflicts(tables, records_in(path)):
        listed = ", ".join(sorted(there)[:_LISTED]) + (" …" if len(there) > _LISTED else "")
        raise NotMoved(f"The target has others of the same name: {listed}. Nothing was written.")
    total = header["counts"]["items"]
    try:
        written = write(tables, records_in(path), lambda number: console.progress(f"Wrote {number} of {total} items …"))
    except AlreadyThere as there_now:
        raise NotMoved(f"Since the import began, the target has got another {there_now}. It has ended early.") from None
    counts = header["counts"]
    text = f"Imported {counts['sessions']} sessions with {counts['messages']} messages, {counts['users']} users"
    return console.done({"counts": counts, "written": written}, f"{text}: {written} of {total} items were new.")


def _spool(export: Export, spool: Path, console: Console) -> None:
    """Sessions are large and are read first; in the file, users come before them."""
    descriptor = os.open(spool, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as raw, gzip.open(raw, "wb", compresslevel=1) as file:
            for record in export.sessions():
                file.write(line_of(record))
                console.progress(f"Read {export.counts[Kind.SESSION]} sessions …")
    except SessionChanging as changing:
        raise NotMoved(f"{changing} Nothing was written. Try again when it is idle.") from changing


def _check_kinds(path: Path) -> None:
    """An export holds nothing that is under way. Raises DamagedFile."""
    for table, item in records_in(path):
        if kind_of(table, item) not in MOVED or "turn" in item or "active_handoff" in item:
            raise DamagedFile(f"{path} holds items that are not part of an export of this version.")


def _counts(export: Export) -> dict[str, Any]:
    named = _named(export.counts)
    return {"users": 0, "sessions": 0, **named, "messages": export.messages, "items": sum(export.counts.values())}


def _named(counts: dict[Kind, int]) -> dict[str, int]:
    return {kind.value: count for kind, count in counts.items() if count}


def _described(counts: dict[Kind, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in _named(counts).items())
