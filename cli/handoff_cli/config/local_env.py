"""The env file of a service on this machine: where it is, what it says, and whether it may be trusted."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from handoff_cli.directories import data_home
from handoff_cli.errors import UsageProblem

_LOCAL_ENV = Path(".local") / "env"


def env_files(environ: Mapping[str, str], directory: Path) -> Iterator[Path]:
    """The files that exist, nearest first: those of `make run` above the directory, then the one of `handoff up`."""
    checkout = environ.get("HANDOFF_CHECKOUT")
    roots = [directory, *directory.parents, *([Path(checkout)] if checkout else [])]
    paths = [*(root / _LOCAL_ENV for root in roots), data_directory(environ) / "env"]
    return (path for path in paths if path.is_file())


def data_directory(environ: Mapping[str, str]) -> Path:
    """Where `handoff up` keeps its data unless `--data` names another place."""
    return Path(data_home(environ)) / "handoff"


def read_env(path: Path) -> dict[str, str]:
    """The variables in the file. Raises UsageProblem if it cannot be read."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UsageProblem(f"{path} cannot be read: {error}. Restart the service that wrote it.") from error
    pairs = (line.strip().removeprefix("export ").partition("=") for line in lines if not line.lstrip().startswith("#"))
    return {key.strip(): value.strip().strip("\"'") for key, mark, value in pairs if mark}


def distrust(path: Path) -> str | None:
    """Why another user of this machine may have written the file; None if only this user can."""
    for place in (path.parent, path):
        try:
            # Not the target of a link: the link itself says who chose it.
            found = place.lstat()
        except OSError as error:
            return f"{place.name} cannot be checked ({error.strerror})"
        if found.st_uid != os.getuid():
            return f"{place} belongs to another user"
        if stat.S_ISLNK(found.st_mode):
            return f"{place} is a symbolic link"
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"others can write {place}; run `chmod go-w {place}` if you trust it"
    return None
