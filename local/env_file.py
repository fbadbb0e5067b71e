"""`.local/env`: from this file the CLI of this checkout learns where the service runs."""

import contextlib
import os
import re
import socket
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path


@contextlib.contextmanager
def env_file(path: Path, values: Mapping[str, str]) -> Iterator[None]:
    """Write the file, readable by its owner only. Afterwards restore its old content if that run is still up, else delete it.

    If another run has replaced the file since then, it is left as it is.
    """
    text = "".join(f"{name}={value}\n" for name, value in values.items())
    path.parent.mkdir(mode=0o700, exist_ok=True)
    before = _read(path)
    write_private(path, text)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if _read(path) == text:
                write_private(path, before) if _still_runs(before) else path.unlink()


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""


def read_env(path: Path) -> dict[str, str]:
    """The variables in a file of this form; empty if it cannot be read."""
    pairs = (line.partition("=") for line in _read(path).splitlines())
    return {name: value for name, mark, value in pairs if mark}


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step, readable by its owner only."""
    descriptor, fresh = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)  # readable by its owner only
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    Path(fresh).replace(path)


def _still_runs(text: str) -> bool:
    """Whether the address in this content accepts connections."""
    found = re.search(r"^HANDOFF_URL=http://([\d.]+):(\d+)$", text, re.MULTILINE)
    if not found:
        return False
    try:
        socket.create_connection((found[1], int(found[2])), timeout=1).close()
    except (OSError, OverflowError):
        return False
    return True
