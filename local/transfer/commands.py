"""Export to a file and import from one, for tables of any kind."""

import gzip
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import Any

from local.console import Console
from local.transfer.contents import Contents, printable
from local.transfer.data_file import DamagedFile, contents_in, line_of, read_header, records_in, write_file
from local.transfer.file_bytes import Reading, is_file, store_files
from shared.ports.files import Files
from shared.ports.tables import Item, Tables
from shared.store.transfer.export import Export, SessionChanging
from shared.store.transfer.kinds import Kind
from shared.store.transfer.write import AlreadyThere, conflicts, write

_LISTED = 10
_MOST_CONFLICTS = 1000


class NotMoved(Exception):
    """Nothing was exported, or the import has ended early. The text is for a person."""


def export_to(
    tables: Tables,
    path: Path,
    console: Console,
    *,
    now: int,
    files: Files | None = None,
    force: bool = False,
    is_foreign: Callable[[Kind, Item], bool] = lambda _kind, _item: False,
) -> int:
    """Write everything that lasts to a new file that only this user can read. Raises NotMoved, OSError.

    Refuses while something is under way, unless forced: it would be lost. Without `files` their bytes stay behind.
    """
    if path.exists():
        raise NotMoved(f"{path} exists. Nothing was written. Choose another name.")
    with tempfile.TemporaryDirectory(prefix=".handoff-", dir=path.parent) as scratch, Reading(files) as reading:
        export = Export(tables, now, is_foreign, reading.has)
        spool, fresh = Path(scratch) / "sessions", Path(scratch) / "export"
        _spool(export, reading, spool, console)
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


def import_from(tables: Tables, path: Path, console: Console, *, files: Files | None = None, yes: bool = False) -> int:
    """Write what a file holds, for users who are not there yet, once the operator has agreed. Raises NotMoved, OSError.

    Nothing is written if the file is not whole, if an item in it is not as this version exports it or belongs to no user of
    the file, or if the target has another item under one of its keys.
    """
    if not path.is_file():
        raise NotMoved(f"{path} is not a file. Nothing was written.")
    with tempfile.TemporaryDirectory(prefix="handoff-") as scratch:
        # What was checked and shown must be what is written, even if somebody else can write to the file.
        copied = Path(scratch) / path.name
        shutil.copyfile(path, copied)
        with closing(Contents(Path(scratch) / ".index")) as contents:
            try:
                read_header(copied, contents.add)
            except DamagedFile as damaged:
                raise NotMoved(f"{str(damaged).replace(str(copied), str(path))} Nothing was written.") from damaged
            return _import(tables, copied, contents, console, path, files=files, yes=yes)


def _import(
    tables: Tables,
    copied: Path,
    contents: Contents,
    console: Console,
    path: Path,
    *,
    files: Files | None,
    yes: bool,
) -> int:
    if missing := contents.missing():
        raise NotMoved(f"{path} holds {missing}. Nothing was written.")
    console.progress("Comparing with what is there …")
    if there := sorted(set(islice(conflicts(tables, records_in(copied), contents), _MOST_CONFLICTS))):
        listed = printable(", ".join(there[:_LISTED])) + (" …" if len(there) > _LISTED else "")
        raise NotMoved(f"The target has others of the same name: {listed}. Nothing was written.")
    if files is None and contents.number(Kind.FILE):
        raise NotMoved(f"{path} holds files, and there is no place for them here. Nothing was written.")
    _ask(contents, console, path, yes=yes)
    total = contents.number()
    if files is not None:  # first, because an item says that its bytes are there
        console.progress("Writing files …")
        store_files(files, contents_in(copied))
    try:
        written, messages = write(
            tables,
            lambda: records_in(copied),
            contents,
            lambda number: console.progress(f"Wrote {number} of {total} items …"),
        )
    except AlreadyThere as there_now:
        name = printable(str(there_now))
        raise NotMoved(f"Since the import began, the target has got another {name}. It has ended early.") from None
    counts = {"users": 0, "sessions": 0, **_named(written), "messages": messages, "items": written.total()}
    text = f"Imported {counts['sessions']} sessions with {messages} messages, {counts['users']} users"
    result = {"counts": counts, "written": written.total(), "in_file": total}
    return console.done(result, f"{text}: {written.total()} of {total} items were new.")


def _ask(contents: Contents, console: Console, path: Path, *, yes: bool) -> None:
    """Name who gets in by this file, and go on only if the operator agrees. Raises NotMoved."""
    console.note(
        f"{path} holds {contents.number(Kind.SESSION)} sessions with {contents.messages()} messages, and these users with "
        "their accounts and tokens, which open the service here:"
    )
    for person in contents.people():
        named = [f"account {platform} {account}" for platform, account in person["accounts"]]
        named += [_described_token(token) for token in person["tokens"]]
        console.note(printable(f"  {person['user']}: {', '.join(named) or 'no account, no token'}"))
    if yes:
        return
    agreed = console.ask("Write this? [y/N] ")
    if agreed is None:
        raise NotMoved("There is no terminal to ask in. Nothing was written. If you agree, repeat it with --yes.")
    if not agreed:
        raise NotMoved("Nothing was written.")


def _described_token(token: dict[str, Any]) -> str:
    label = f" “{token['label']}”" if token["label"] else ""
    until = "" if token["valid_until"] is None else ", expires"
    return f"token {token['id']}{label} ({', '.join(token['scopes']) or 'no scope'}{until})"


def _spool(export: Export, reading: Reading, spool: Path, console: Console) -> None:
    """Sessions are large and are read first; in the file, users come before them."""
    descriptor = os.open(spool, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as raw, gzip.open(raw, "wb", compresslevel=1) as file:
            for record in export.sessions():
                file.write(line_of(record))
                if is_file(record):
                    file.writelines(reading.lines())
                console.progress(f"Read {export.counts[Kind.SESSION]} sessions …")
    except SessionChanging as changing:
        raise NotMoved(f"{changing} Nothing was written. Try again when it is idle.") from changing


def _counts(export: Export) -> dict[str, Any]:
    named = _named(export.counts)
    return {"users": 0, "sessions": 0, **named, "messages": export.messages, "items": sum(export.counts.values())}


def _named(counts: dict[Kind, int]) -> dict[str, int]:
    return {kind.value: count for kind, count in counts.items() if count}


def _described(counts: dict[Kind, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in _named(counts).items())
