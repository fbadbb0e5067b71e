"""Change files of other programs: all or nothing is planned first, each one is replaced as a whole, copies are kept."""

import difflib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from handoff_cli.errors import UsageProblem


@dataclass(frozen=True)
class Change:
    """One file, before and after; None is a file that does not exist."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def target(self) -> Path:
        """The file itself, if the path is a link: people keep their settings elsewhere."""
        return self.path.resolve()


def read(path: Path) -> bytes | None:
    """The content; None if there is no file. Raises UsageProblem."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageProblem(f"{path} cannot be read: {error.strerror}. Nothing was changed.") from error


def check_writable(change: Change) -> None:
    """Raises UsageProblem. A file that is marked read-only stays as it is, although it could be replaced."""
    target = change.target
    try:
        if change.before is not None and not target.stat().st_mode & stat.S_IWUSR:
            raise UsageProblem(
                f"{target} is read-only. Make it writable (chmod u+w) and try again. Nothing was changed."
            )
        folder = next(parent for parent in target.parents if parent.exists())
    except OSError as error:
        raise UsageProblem(f"{target} cannot be written: {error.strerror}. Nothing was changed.") from error
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise UsageProblem(f"{target} cannot be written: {folder} is not a directory that you can write to.")


def apply(change: Change) -> None:
    """Write or remove the file. Raises UsageProblem if it is not as it was planned for, or cannot be written."""
    target = change.target
    if read(target) != change.before:
        raise UsageProblem(f"{target} was changed by another program just now. Try again.")
    try:
        if change.after is None:
            target.unlink(missing_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(change.after)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(stat.S_IMODE(target.stat().st_mode) if change.before is not None else 0o644)
        Path(name).replace(target)
    except OSError as error:
        raise UsageProblem(f"{target} cannot be written: {error.strerror}.") from error


def difference(change: Change, home: str) -> Iterator[str]:
    """The lines of a unified diff."""
    name = str(change.path)
    name = f"~{name.removeprefix(home)}" if home and name.startswith(f"{home}/") else name
    old, new = ((side or b"").decode("utf-8", "replace").splitlines() for side in (change.before, change.after))
    old_name, new_name = (name if side is not None else "/dev/null" for side in (change.before, change.after))
    return difflib.unified_diff(old, new, old_name, new_name, lineterm="", n=2)


def digest(raw: bytes) -> str:
    """Tells whether a file is as it was written."""
    return hashlib.sha256(raw).hexdigest()
