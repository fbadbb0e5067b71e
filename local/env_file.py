"""`.local/env`: from this file the CLI of this checkout learns where the service runs."""

import contextlib
import os
import re
import socket
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
    _write(path, text)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if _read(path) == text:
                _write(path, before) if _still_runs(before) else path.unlink()


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""


def _write(path: Path, text: str) -> None:
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)


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
