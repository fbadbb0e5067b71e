"""Tell the user's home chat that an agent needs them or is done. The hook only starts a process: the agent never waits."""

import json
import os
import sys
import time
from collections.abc import Mapping
from typing import Any

from handoff_cli.inside.quick import state_directory

_EVERY_SECONDS = 60
_LONGEST = 300
_NEEDS_YOU = {"Notification", "PermissionRequest"}
_DONE = {"Stop", "AfterAgent"}
# Of Claude Code: a reminder after a minute without words, which follows "done", and what needs no action.
_SILENT = {"idle_prompt", "auth_success"}


def notify(agent: str, platform: str, raw: bytes, environ: Mapping[str, str]) -> None:
    """Start the process that posts, if this event is worth a notice and the last one is a minute old. Raises nothing."""
    notice = notice_of(raw)
    # What the runner does is in the chat already.
    if notice is None or environ.get("HANDOFF_HOST") == "1" or not _is_due(environ):
        return
    try:
        start_hook([agent, "--notify", platform, "--post"], notice, environ)
    except OSError:
        return


def start_hook(arguments: list[str], given: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    """Start `handoff hook` with this input. It has a session of its own: the end of the caller does not end it."""
    import subprocess  # noqa: PLC0415 - most events start nothing

    # -P: a file in the current directory must not be imported.
    process = subprocess.Popen(  # noqa: S603 - this very program
        [sys.executable, "-P", "-m", "handoff_cli", "hook", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(environ),
        start_new_session=True,
    )
    assert process.stdin  # noqa: S101 - it is a pipe
    process.stdin.write(json.dumps(given).encode())
    process.stdin.close()


def notice_of(raw: bytes) -> dict[str, str] | None:
    """The notice of an event; never content of the conversation."""
    try:
        event: Any = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    name = event.get("hook_event_name") if isinstance(event, dict) else None
    if not isinstance(name, str) or name not in _NEEDS_YOU | _DONE or event.get("notification_type") in _SILENT:
        return None
    session, directory = (str(event.get(key) or "") for key in ("session_id", "cwd"))
    if name in _DONE:
        return {"what": "done", "session": session, "directory": directory, "why": ""}
    tool = event.get("tool_name")
    why = event.get("message") or (f"May it use {tool}?" if tool else "")
    return {"what": "needs you", "session": session, "directory": directory, "why": str(why)[:_LONGEST]}


def _is_due(environ: Mapping[str, str]) -> bool:
    """Spares the service what it would drop: it decides, this is only a file."""
    path = f"{state_directory(environ)}/noticed"
    try:
        if 0 <= time.time() - os.stat(path).st_mtime < _EVERY_SECONDS:  # noqa: PTH116 - pathlib takes long
            return False
    except OSError:
        pass
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120 - see above
        with open(path, "wb"):  # noqa: PTH123 - see above
            pass
        os.utime(path)
    except OSError:
        pass
    return True
