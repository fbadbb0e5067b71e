"""Texts for the user in the agent's display. A link stands alone on its line: displays break long lines."""

from typing import Any

from handoff_cli.inside import ALWAYS_CURRENT
from handoff_cli.inside.events import Event
from handoff_cli.inside.slash_command import typed
from handoff_cli.inside.state import State, StateFile

_RELOAD = {
    "claude-code": "Type /resume {id} here, or run: claude --resume {id}",
    "codex": "Close Codex (/quit), then run: codex resume {id}",
    "gemini": "Close Gemini (/quit), then run: gemini --resume {id}",
    "opencode": "Close opencode, then run: opencode -s {id}",
    "hermes": "Close hermes, then run: hermes --resume {id}",
}
HERE = "This session is here."


def usage(event: Event) -> str:
    """The commands that can be typed."""
    commands = {
        "PLATFORM": "move this session to a new thread there; words behind it are the first message",
        "status": "where the session is",
        "back": "bring it back",
    }
    return "\n".join(f"{typed(event.agent, arguments)}  –  {text}" for arguments, text in commands.items())


def moved(event: Event, state: State) -> str:
    """It is in the chat."""
    lines = [f"This session is in {state.platform} now. Continue here:", state.link or "(no link)"]
    if event.agent == "codex" and state.own:
        # One process at a time may write a thread, and an open Codex holds it.
        lines.append("Close Codex here (/quit), so that it can answer there.")
    lines.append(f"Bring it back with: {typed(event.agent, 'back')}")
    return "\n".join([*lines, *([state.note] if state.note else [])])


def on_its_way(event: Event, state: State) -> str:
    """The move has not ended."""
    return f"The session is on its way to {state.platform}. Look with: {typed(event.agent, 'status')}"


def not_moved(state: State) -> str:
    """The move failed."""
    return f"The session was not moved. {state.note}\nIt is still here."


def elsewhere(event: Event, session: dict[str, Any]) -> str:
    """Where it is, and the way back."""
    if session["owner"] == "cli":
        return "The session is on its way to a chat."
    platform = str(session["owner"]).partition(":")[0]
    clear = "" if event.prompt is None else " (clear the line first: Ctrl+U)"
    back = f"Bring it back with: {typed(event.agent, 'back')}{clear}"
    return f"This session is in {platform}:\n{session.get('link') or '(no link)'}\n{back}"


def cannot_check(state: State, file: StateFile, reason: str) -> str:
    """The service does not say where it is."""
    where = (
        f"This session was moved to {state.platform or 'a chat'}, and it cannot be checked whether it is still there."
    )
    return f"{where}\n{reason}\nIf you know that it is here, remove {file.path}"


def returned(event: Event, state: State) -> str:
    """It is back, and what to do first."""
    if state.reload and event.agent not in ALWAYS_CURRENT:
        return f"The session is here again. To load what was said in the chat:\n{reload(event)}"
    more = " The agent gets what was said elsewhere with your next words." if state.context else ""
    return f"The session is here again.{more}"


def still_busy() -> str:
    """The runner's agent has not stopped yet."""
    return "\nThe agent still finishes a step for the chat. Wait some seconds before you load the session."


def reload(event: Event) -> str:
    """The command that loads the session as it is now."""
    return _RELOAD[event.agent].format(id=event.native_id)
