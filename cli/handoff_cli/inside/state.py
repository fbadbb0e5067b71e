"""State of sessions that were handed over from inside an agent: one private file for each."""

import json
import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from handoff_cli.inside.quick import note_path

Phase = Literal["moving", "failed", "away", "back"]
_MOVE_SECONDS = 180.0


@dataclass(frozen=True)
class State:
    """One handed-over session. The service stays the truth: this only says what to ask it."""

    phase: Phase
    session_id: str
    url: str = ""
    platform: str = ""
    link: str = ""
    sent: int = 0
    """The number of messages that were handed over; the agent knows these."""
    pid: int = 0
    began: float = 0.0
    note: str = ""
    """A text for the user: why it failed, what was sent."""
    reload: bool = False
    """Back, but the agent's own session went on elsewhere: the program that stayed open must load it first."""
    context: str = ""
    """Back: what the model must get once."""
    own: bool = False
    """The user's own agent answers there."""
    loaded: str = ""
    """Away: the version of the session when the agent last loaded it here. Unchanged, there is nothing new to load."""

    @property
    def is_moving(self) -> bool:
        """Is the process that moves the session still at work?"""
        return self.phase == "moving" and time.time() - self.began < _MOVE_SECONDS and _is_alive(self.pid)


@dataclass(frozen=True)
class StateFile:
    """The file of one native session."""

    path: Path

    @classmethod
    def of(cls, environ: Mapping[str, str], agent: str, native_id: str) -> "StateFile":
        return cls(Path(note_path(environ, agent, native_id)))

    def read(self) -> State | None:
        """None if there is none. An unreadable file is treated as a session that is away."""
        try:
            found = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            found = {}
        known = {field.name for field in fields(State)}
        values = {name: value for name, value in found.items() if name in known} if isinstance(found, dict) else {}
        return State(**{"phase": "away", "session_id": "", **values})

    def write(self, state: State) -> None:
        """Replace the file as a whole; only its owner can read it. Raises OSError."""
        write_private(self.path, asdict(state))

    def create(self, state: State) -> bool:
        """Write the first state. False if there is one: another hook of this session was faster. Raises OSError."""
        new = _new_beside(self.path, asdict(state))
        try:
            self.path.hardlink_to(new)
        except FileExistsError:
            return False
        finally:
            new.unlink()
        return True

    def remove(self) -> None:
        """The session is here, and nothing is to be said about it any more."""
        with suppress(OSError):
            self.path.unlink()


def write_private(path: Path, value: Any) -> None:
    """Replace a JSON file as a whole; only its owner can read it. Raises OSError."""
    _new_beside(path, value).replace(path)


def _new_beside(path: Path, value: Any) -> Path:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp creates the file with mode 0600.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(value, file)
    return Path(name)


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        return True  # its number is not known yet
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
