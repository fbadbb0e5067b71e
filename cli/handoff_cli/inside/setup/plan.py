"""Plan an installation or its removal, and remember what was there before."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from handoff_cli.inside.quick import state_directory
from handoff_cli.inside.setup.files import Change, check_writable, digest, read
from handoff_cli.inside.setup.integrations import Integration
from handoff_cli.inside.state import write_private


@dataclass(frozen=True)
class Kept:
    """A file as it was before the installation (None: there was none), and the digest of what was written."""

    before: bytes | None
    written: str


@dataclass(frozen=True)
class Record:
    """The copies of one integration, and the folders that were made for it."""

    files: Mapping[str, Kept]
    folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordFile:
    """One private file: `installed/<agent>.json`."""

    path: Path

    @classmethod
    def of(cls, environ: Mapping[str, str], name: str) -> "RecordFile":
        return cls(Path(state_directory(environ)) / "installed" / f"{name}.json")

    def read(self) -> Record:
        """Empty if nothing was installed, or the record is lost: then entries are taken out one by one."""
        try:
            found = json.loads(self.path.read_bytes())
            files = {
                path: Kept(None if kept["before"] is None else base64.b64decode(kept["before"]), str(kept["written"]))
                for path, kept in found["files"].items()
            }
            return Record(files, tuple(map(str, found["folders"])))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return Record({})

    def write(self, record: Record) -> None:
        """Raises OSError."""
        files = {
            path: {
                "before": None if kept.before is None else base64.b64encode(kept.before).decode(),
                "written": kept.written,
            }
            for path, kept in record.files.items()
        }
        write_private(self.path, {"files": files, "folders": record.folders})

    def remove(self) -> None:
        """Nothing is installed any more."""
        self.path.unlink(missing_ok=True)


def plan_install(
    integration: Integration, environ: Mapping[str, str], program: tuple[str, ...], notify: str | None = None
) -> tuple[list[Change], Record]:
    """The changes, none if all is there, and the record to write before them. Raises UsageProblem; writes nothing."""
    contents: dict[Path, tuple[bytes | None, bytes | None]] = {}
    bare: dict[Path, bytes | None] = {}
    for piece in integration.pieces(environ, program, notify):
        before, now = contents.get(piece.path) or (read(piece.path),) * 2
        contents[piece.path] = before, piece.wanted(now)
        without = bare.get(piece.path, before)
        bare[piece.path] = None if without is None else piece.removed(without)
    known = RecordFile.of(environ, integration.name).read()
    files: dict[str, Kept] = {}
    for path, (before, after) in contents.items():
        kept = known.files.get(str(path))
        as_written = kept is not None and before is not None and digest(before) == kept.written
        files[str(path)] = Kept(kept.before if kept and as_written else bare[path], digest(after or b""))
    folders = {str(folder) for path in contents for folder in path.resolve().parents if not folder.exists()}
    return _changes(contents), Record(files, tuple(sorted({*known.folders, *folders})))


def plan_removal(integration: Integration, environ: Mapping[str, str]) -> list[Change]:
    """Back to what was there, byte for byte; in a file that was changed since, only our entries go. Raises UsageProblem."""
    known = RecordFile.of(environ, integration.name).read().files
    contents: dict[Path, tuple[bytes | None, bytes | None]] = {}
    for piece in integration.pieces(environ, ("handoff",)):
        before, now = contents.get(piece.path) or (read(piece.path),) * 2
        kept = known.get(str(piece.path))
        if before is not None and kept is not None and digest(before) == kept.written:
            contents[piece.path] = before, kept.before
        elif now is not None:
            contents[piece.path] = before, piece.removed(now)
    return _changes(contents)


def _changes(contents: Mapping[Path, tuple[bytes | None, bytes | None]]) -> list[Change]:
    changes = [Change(path, before, after) for path, (before, after) in contents.items() if before != after]
    for change in changes:
        check_writable(change)
    return changes
