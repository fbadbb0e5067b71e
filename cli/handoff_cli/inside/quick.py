"""The answer to most prompts, before anything else is imported: the hook runs each time the user presses Enter."""

import json
import os
from collections.abc import Mapping

from handoff_cli.directories import state_home


def nothing_to_do(agent: str, raw: bytes, environ: Mapping[str, str]) -> bool:
    """Is this a prompt without a command, in a session that was never handed over? Then the hook says nothing."""
    # Prompts of the runner are for the agent, wherever the session lives.
    if environ.get("HANDOFF_HOST") == "1":
        return True
    try:
        event = json.loads(raw)
    except (ValueError, RecursionError):
        return True
    if not isinstance(event, dict):
        return True
    return "handoff" not in str(event.get("prompt")) and not os.path.exists(  # noqa: PTH110 - pathlib takes long
        note_path(environ, agent, str(event.get("session_id")))
    )


def note_path(environ: Mapping[str, str], agent: str, native_id: str) -> str:
    """The file that remembers a handed-over session of an agent."""
    return f"{state_directory(environ)}/away/{agent}/{native_id}.json"


def state_directory(environ: Mapping[str, str]) -> str:
    """Where this program remembers things about this machine."""
    return f"{state_home(environ)}/handoff"
