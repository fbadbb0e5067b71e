"""The process, the file through which clients find it, and its connections to platforms."""

import socket
from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any
from urllib.parse import urlsplit

from local.chats.real import RealBots
from local.chats.relays.configuration import variable
from local.server.directory import DataDirectory
from local.server.maintenance.finding import Finding
from shared.errors import DataFileError
from shared.ports.tables import Table
from shared.sqlite.backup import opened
from shared.store.keys import token_key
from shared.use_cases.people.authenticate import hash_of

CONNECT_SECONDS = 1.0


def process(directory: DataDirectory, running: str | None, start: str) -> Iterator[Finding]:
    """Whether it runs; and that no other program sits where clients look for it."""
    if running:
        yield Finding("process", ok=True, detail=f"running, process {running}")
        return
    yield Finding("process", ok=False, detail="The service is not running.", fix=start)
    url = directory.read_env().get("HANDOFF_URL", "")
    if url and _answers(url):
        detail = (
            f"Another program listens at {url}, where clients look for this service: they would send it your token."
        )
        yield Finding("address", ok=False, detail=detail, fix=f"rm {quote(f'{directory.path}/env')}")


def env(directory: DataDirectory, running: str | None, start: str) -> Iterator[Finding]:
    """Whether the file for clients names this service and a token that is valid."""
    if not running and not (directory.path / "env").exists():
        return
    known = directory.read_env()
    url, token = known.get("HANDOFF_URL", ""), known.get("HANDOFF_TOKEN", "")
    restart = f"stop the service, then: {start}" if running else start
    if not url or not token:
        detail = f"{directory.path}/env names no service, so the commands do not find it."
        yield Finding("env", ok=False, detail=detail, fix=restart)
    elif not _is_valid(directory, token):
        detail = f"The token in {directory.path}/env is unknown to the database. A start writes a new one."
        yield Finding("env", ok=False, detail=detail, fix=restart)
    elif running and not _answers(url):
        detail = f"Nothing listens at {url}, which {directory.path}/env names."
        yield Finding("env", ok=False, detail=detail, fix=restart)
    else:
        yield Finding("env", ok=True, detail=f"{url}, with a valid token")


def relays(state: Mapping[str, Any], program: str) -> Iterator[Finding]:
    """The connections of a running service, as it has told them: connected, not yet, or given up and why."""
    if state.get("simulated"):
        yield Finding("chats", ok=True, detail="simulated, because no bot is set up")
        return
    for platform, known in dict(state.get("relays") or {}).items():
        name = f"relay {platform}"
        if known is True:
            yield Finding(name, ok=True, detail="connected")
        elif known is False:
            yield Finding(name, ok=None, detail="not connected yet; it tries again and again")
        else:
            yield Finding(name, ok=False, detail=f"It has given up: {known}", fix=f"{program} setup {platform}")


def unused_bots(directory: DataDirectory, state: Mapping[str, Any], process: str | None) -> Iterator[Finding]:
    """Bots that were set up after the service has started, when the set-up ended before the restart."""
    if not process or not state.get("loaded") or state.get("public_url"):
        return
    try:
        with opened(directory.database) as connection:
            stored = dict(connection.execute("SELECT name, value FROM secrets").fetchall())
    except DataFileError:
        return
    bots = RealBots.from_environment({variable(name): value for name, value in stored.items()})
    for name in bots.platforms:
        if name not in dict(state.get("relays") or {}):
            detail = "It is set up, and the service was started before that."
            yield Finding(f"bot {name}", ok=False, detail=detail, fix=f"kill -USR1 {process}")


def _is_valid(directory: DataDirectory, token: str) -> bool:
    """True also for a database that cannot be read: that is a finding already."""
    user = token.removeprefix("ho_").partition(".")[0]
    key = Table.SESSIONS.key_of(token_key(user, hash_of(token)))
    try:
        with opened(directory.database) as connection:
            find = "SELECT 1 FROM sessions WHERE pk = ? AND sk = ?"
            return connection.execute(find, (key["pk"], key["sk"])).fetchone() is not None
    except DataFileError:
        return True


def _answers(url: str) -> bool:
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 80), timeout=CONNECT_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True
