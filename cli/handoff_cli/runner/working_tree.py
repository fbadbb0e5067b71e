"""What changed in a session's files since it came to a chat: git compares, and runs nothing of the repository.

The agent can write in the repository, its configuration and hooks included. So git works with a directory of its own outside
of it: no configuration, hook, filter, driver or monitor of the repository is read. It only borrows the repository's objects.
"""

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from handoff_cli.errors import CliError
from handoff_cli.runner.machine.files import private_directory, read_json, write_json
from handoff_cli.runner.order import Json, refused
from handoff_cli.runner.outgoing.opened import megabytes
from handoff_cli.transcripts import likely_secrets
from handoff_cli.ui.text import clean, one_line

_SECONDS = 20.0
_MOST_FILES = 50_000
_LARGEST, _LONGEST = 5 * 1024 * 1024, 64 * 1024 * 1024
_SHOWN, _ROOM = 60, 14_000
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NO_GIT = "The session's directory is in no git repository, or git is not installed on the machine, so nothing can be compared."
_NO_BASE = "It was not noted how the files were when the session came here. The next session that comes is noted."
_QUIET = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.attributesFile=/dev/null"),
    *("-c", "core.excludesFile=/dev/null"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "core.quotePath=false"),
    *("-c", "gc.auto=0"),
)
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--ignore-submodules=all")


class GitFailed(CliError):
    """Git cannot compare these files."""


class GitHangs(GitFailed):
    """Git takes too long, as it does where a pipe stands in place of a file."""


@dataclass(frozen=True)
class Changed:
    """One file: how many lines came and went; None for a binary one."""

    name: str
    added: int | None
    removed: int | None

    @property
    def line(self) -> str:
        counts = "binary" if self.added is None else f"+{self.added} −{self.removed}"
        return f"{one_line(self.name)}  {counts}"


class WorkingTree:
    """The files of one session. The base is what they were when it came, as a tree of git's in a directory of ours."""

    def __init__(self, state: Path, session_id: str, directory: Path) -> None:
        self._state, self._own = state, state / "trees" / session_id
        self._directory = directory
        self.listed = ""
        """The files, as a tree, of which the last answer was the list of changes."""

    def note(self, turn: str) -> None:
        """Keep the files as they are now as the base, once for each turn. Best effort: without one `/diff` says so."""
        if (read_json(self._own / "base.json") or {}).get("turn") == turn:
            return
        try:
            tree = self._snapshot()
            write_json(self._own / "base.json", {"turn": turn, "tree": tree})
        except (CliError, OSError):
            return

    @property
    def has_base(self) -> bool:
        return bool(_ID.fullmatch(self._base()))

    def answer(self, name: str) -> Json:
        """The answer to `/diff`: the list of changed files, or one of them. Raises CliError."""
        root = self._root()
        if root is None or shutil.which("git") is None:
            return refused(_NO_GIT)
        if not self.has_base:
            return refused(_NO_BASE)
        now = self._snapshot()
        changed = self._changed(now)
        if not changed:
            return {"outcome": "done", "text": "Nothing changed in the files since the session came here."}
        if name:
            return self._one(now, changed, name)
        self.listed = now
        return {"outcome": "done", "text": _counted(changed), "diff": _listed(changed)}

    def whole(self, limit: int) -> tuple[str, bool]:
        """All changes of the list as a patch with likely secrets masked, and whether there were any.

        Raises CliError, also for one of more than `limit` bytes.
        """
        patch = self._git("diff-tree", "-p", "-r", *_PLAIN, self._base(), self.listed, most=limit)
        return likely_secrets.mask_words(patch.decode("utf-8", "replace"))

    def _one(self, now: str, changed: Sequence[Changed], name: str) -> Json:
        """One file of the list that was just made: by its number or its name. No other path is looked at."""
        numbered = {str(number): one for number, one in enumerate(changed, start=1)}
        named = [one for one in changed if one.name == name] or [
            one for one in changed if one.name.endswith(f"/{name}")
        ]
        found = numbered.get(name) or (named[0] if len(named) == 1 else None)
        if found is None:
            return {**refused("No changed file, or several, have that name. These changed:"), "diff": _listed(changed)}
        text, masked = likely_secrets.mask_words(clean(self._patch(now, found.name)))
        cut = len(text) > _ROOM
        notes = [
            *(["Likely secrets are masked."] if masked else []),
            *([f"Only the first {_ROOM} characters of {len(text)} are shown."] if cut else []),
        ]
        return {"outcome": "done", "text": " ".join([one_line(found.line), *notes]), "diff": text[:_ROOM]}

    def _patch(self, now: str, name: str) -> str:
        """The changes of a file as a patch; likely secrets are not masked yet."""
        said = self._git("diff-tree", "-p", "-r", *_PLAIN, self._base(), now, "--", name)
        return said.decode("utf-8", "replace")

    def _changed(self, now: str) -> list[Changed]:
        said = self._git("diff-tree", "-r", "-z", "--numstat", *_PLAIN, self._base(), now).decode("utf-8", "replace")
        found = (line.split("\t", 2) for line in said.split("\0") if line.count("\t") >= 2)
        return [Changed(name, _count(added), _count(removed)) for added, removed, name in found]

    def _snapshot(self) -> str:
        """The files as they are now, as a tree. Raises CliError."""
        root = self._root()
        if root is None or shutil.which("git") is None:
            raise GitFailed(_NO_GIT)
        self._prepare(root)
        try:
            self._fill(root)
        except GitHangs:
            raise
        except GitFailed:
            # What was a file is a directory by now, or the like: begin without what the index remembers.
            (self._own / "git" / "index").unlink(missing_ok=True)
            self._fill(root)
        return self._git("write-tree").decode().strip()

    def _fill(self, root: Path) -> None:
        """Put every file into the index: those that are in it, and others that are not ignored."""
        listed = self._git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split(b"\0")
        names = sorted({name for name in listed if name and not name.endswith(b"/")})
        if len(names) > _MOST_FILES:
            raise GitFailed(f"The project has more than {_MOST_FILES} files, which is too many to compare.")
        small = [name for name in names if _is_small(os.fsencode(root) + b"/" + name)]
        self._git("update-index", "-z", "--add", "--remove", "--replace", "--stdin", given=b"\0".join([*small, b""]))

    def _prepare(self, root: Path) -> None:
        """A directory for git outside of the repository, which borrows the objects of that. Safe to repeat."""
        git = private_directory(private_directory(self._state / "trees") / self._own.name) / "git"
        head = _head(root / ".git")
        if not (git / "HEAD").is_file():
            private_directory(git)
            kind = "sha256" if head is not None and len(head) == 64 else "sha1"
            self._run("init", "-q", "--bare", "--template=", f"--object-format={kind}", str(git))
        objects = _objects(root / ".git")
        info = git / "objects" / "info"
        info.mkdir(exist_ok=True)
        (info / "alternates").write_text(f"{objects}\n" if objects else "")
        if not (git / "index").exists() and head is not None:
            try:
                self._git("read-tree", head)
                self._drop_nested()
            except GitFailed:
                (git / "index").unlink(missing_ok=True)

    def _drop_nested(self) -> None:
        """Other repositories in this one are not looked at."""
        entries = self._git("ls-files", "-s", "-z").split(b"\0")
        nested = [entry.partition(b"\t")[2] for entry in entries if entry.startswith(b"160000 ")]
        if nested:
            self._git("update-index", "-z", "--force-remove", "--stdin", given=b"\0".join([*nested, b""]))

    def _base(self) -> str:
        return str((read_json(self._own / "base.json") or {}).get("tree") or "")

    def _root(self) -> Path | None:
        """The directory with the repository in which the session works."""
        for path in (self._directory, *self._directory.parents):
            if path in (Path.home(), Path(path.anchor)):
                return None
            if (path / ".git").exists():
                return path
        return None

    def _git(self, *arguments: str, given: bytes = b"", most: int = 0) -> bytes:
        root, own = self._root(), self._own / "git"
        return self._run(f"--git-dir={own}", f"--work-tree={root}", *_QUIET, *arguments, given=given, most=most)

    def _run(self, *arguments: str, given: bytes = b"", most: int = 0) -> bytes:
        """What git says, on disk at first: it may be more than the memory holds, and no more than `most` is read."""
        program = shutil.which("git") or "git"
        try:
            with TemporaryFile(dir=self._state) as said:
                subprocess.run(  # noqa: S603 - git, with the arguments of this module
                    [program, *arguments],
                    input=given,
                    env=_environ(),
                    cwd=self._root(),
                    stdout=said,
                    stderr=subprocess.DEVNULL,
                    timeout=_SECONDS,
                    check=True,
                )
                size = said.seek(0, os.SEEK_END)
                if most and size > most:
                    raise GitFailed(f"The whole has {megabytes(size)}, so it is not sent as a file.")
                said.seek(0)
                return said.read()
        except subprocess.TimeoutExpired:
            raise GitHangs("Comparing the files took too long, so nothing is shown.") from None
        except (OSError, subprocess.SubprocessError):
            raise GitFailed("Git could not compare the files.") from None


def _environ() -> dict[str, str]:
    """Nothing of the user's or the repository's configuration of git, and no variable that changes it."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_LITERAL_PATHSPECS": "1",
    }


def _head(git: Path) -> str | None:
    """The newest commit, read without starting anything; None if there is none, or the files are of another form."""
    directory = _directory(git)
    try:
        head = _text(directory / "HEAD").strip()
        if not head.startswith("ref: refs/"):
            return head if _ID.fullmatch(head) else None
        name, common = head.removeprefix("ref: "), _common(directory)
        if ".." in name:
            return None
        for place in (directory, common):
            if (place / name).is_file():
                found = _text(place / name).strip()
                return found if _ID.fullmatch(found) else None
        lines = _text(common / "packed-refs").splitlines()
    except (OSError, ValueError):
        return None
    found = next((line.split(" ")[0] for line in lines if line.endswith(f" {name}")), "")
    return found if _ID.fullmatch(found) else None


def _objects(git: Path) -> Path | None:
    objects = _common(_directory(git)) / "objects"
    return objects.resolve() if objects.is_dir() and "\n" not in str(objects.resolve()) else None


def _directory(git: Path) -> Path:
    """Where the repository is: `.git` may be a file that names it."""
    if git.is_dir():
        return git
    try:
        named = _text(git).strip().removeprefix("gitdir: ")
    except (OSError, ValueError):
        return git
    return (git.parent / named).resolve()


def _common(directory: Path) -> Path:
    """A second working tree shares the objects of the first one."""
    try:
        return (directory / _text(directory / "commondir").strip()).resolve()
    except (OSError, ValueError):
        return directory


def _text(path: Path) -> str:
    """A file of the repository; not what stands in its place, as a pipe or a device would. Raises OSError, ValueError."""
    # A pipe is opened without waiting for a writer.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{path} is no file")
        return file.read(_LONGEST).decode()


def _is_small(path: bytes) -> bool:
    """Whether a file is gone, or not too large to be kept."""
    try:
        return os.lstat(path).st_size <= _LARGEST
    except OSError:
        return True


def _count(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _counted(changed: Sequence[Changed]) -> str:
    added, removed = sum(one.added or 0 for one in changed), sum(one.removed or 0 for one in changed)
    files = "1 file" if len(changed) == 1 else f"{len(changed)} files"
    return f"{files} changed since the session came here, +{added} −{removed}. Send `/diff NUMBER` or `/diff NAME` for one."


def _listed(changed: Sequence[Changed]) -> str:
    lines = [f"{number}. {one.line}" for number, one in enumerate(changed[:_SHOWN], start=1)]
    more = [f"… and {len(changed) - _SHOWN} more"] if len(changed) > _SHOWN else []
    return likely_secrets.mask_words("\n".join([*lines, *more]))[0][:_ROOM]
