"""A request to the runner of this machine, over the socket in its directory; see `Channel`."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

NAME = "channel"
LONGEST_LINE = 64 * 1024
_LONGEST_PATH = 100


def ask_runner(state: Path, request: dict[str, Any], *, seconds: float) -> dict[str, Any] | None:
    """Ask the runner of this machine; None if there is none, or it does not answer in time."""
    with suppress(OSError, ValueError), address(state) as path, socket.socket(socket.AF_UNIX) as line:
        line.settimeout(seconds)
        line.connect(path)
        line.sendall(json.dumps(request).encode() + b"\n")
        with line.makefile("rb") as lines:
            answer = json.loads(lines.readline(LONGEST_LINE))
        return answer if isinstance(answer, dict) else None
    return None


@contextmanager
def address(state: Path) -> Iterator[str]:
    """The path of the socket. A long one is not taken by the system: then it is reached through its directory."""
    path = str(state / NAME)
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        yield path
        return
    directory = os.open(state, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{directory}/{NAME}"
    finally:
        os.close(directory)
