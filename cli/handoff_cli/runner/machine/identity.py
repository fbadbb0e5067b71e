"""The runner of this machine: an id that is chosen once, and a name for people."""

import re
import socket
import uuid
from dataclasses import dataclass
from pathlib import Path

from handoff_cli.runner.machine.files import private_directory, read_json, write_json

_FILE = "runner.json"
_NAME_LIMIT = 60
SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Ids of the service become names of files only if they match this."""


@dataclass(frozen=True)
class Identity:
    """Who this machine is to the service."""

    id: str
    name: str


def known_identity(state: Path) -> Identity | None:
    """The runner of this machine; None if it never had one."""
    found = read_json(state / _FILE) or {}
    if not SAFE_ID.fullmatch(str(found.get("id") or "")):
        return None
    return Identity(str(found["id"]), str(found.get("name") or found["id"]))


def identify(state: Path, name: str | None = None) -> Identity:
    """The runner of this machine, made at the first call; a given name is kept. Call it with the runner's lock."""
    known = known_identity(private_directory(state))
    wanted = (name or (known.name if known else socket.gethostname()) or "this machine")[:_NAME_LIMIT]
    identity = Identity(known.id if known else uuid.uuid4().hex, wanted)
    if identity != known:
        write_json(state / _FILE, {"id": identity.id, "name": identity.name})
    return identity
