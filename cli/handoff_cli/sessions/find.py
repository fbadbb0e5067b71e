"""Find the session that the user names by title or id, and list sessions in lines."""

import re

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.errors import Ambiguous, Refused, UsageProblem
from handoff_cli.ui.text import aligned, one_line

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHOWN = 10


def choose_session(context: Context, service: Service, name: str) -> Json:
    """The session of that name. If several match, ask at a terminal; elsewhere raise Ambiguous. Raises Refused."""
    try:
        return _find(service, name)
    except Ambiguous as several:
        if not context.terminal.interactive or context.terminal.json_output:
            raise
        return ask_which(context, several.candidates)


def ask_which(context: Context, sessions: list[Json]) -> Json:
    """Let the user choose a session by number. Raises UsageProblem if they choose none."""
    if not sessions:
        raise UsageProblem("You have no sessions yet.")
    for number, line in enumerate(session_lines(sessions), start=1):
        context.terminal.say(f"{number:>3}  {line}")
    try:
        answer = context.terminal.ask("Which one? Enter its number, or nothing to leave: ")
    except (EOFError, KeyboardInterrupt):
        answer = ""
    if answer.isdecimal() and 1 <= int(answer) <= len(sessions):
        return sessions[int(answer) - 1]
    raise UsageProblem("No session chosen; nothing was changed.")


def display(session: Json) -> str:
    """A session in a sentence: its title, or the beginning of its id."""
    return f"“{one_line(str(session['title']), 60)}”" if session.get("title") else f"session {session['id'][:8]}"


def session_lines(sessions: list[Json]) -> list[str]:
    """One line per session: id, title, size, time and place."""
    return aligned([_row(session) for session in sessions])


def _find(service: Service, name: str) -> Json:
    """The session with this id or title, else the only one that begins with it. Raises Refused or Ambiguous."""
    if _ID.fullmatch(name):
        try:
            return service.session(name)
        except Refused as refusal:
            if refusal.status != 404:
                raise
    wanted = name.strip().casefold()
    # An empty name (an unset variable in a script) must not match a session without a title.
    sessions = list(service.sessions()) if wanted else []
    for matches in (_has_title, _begins_with):
        found = [session for session in sessions if matches(session, wanted)]
        if len(found) == 1:
            return found[0]
        if found:
            raise Ambiguous(_choices(name, found), candidates=found)
    detail = f"No session has the title or id “{one_line(name, 60)}”. List yours with: handoff sessions"
    raise Refused({"code": "unknown_session", "detail": detail}, status=404)


def _row(session: Json) -> list[str]:
    title = one_line(str(session.get("title") or "(no title)"), 48)
    when = str(session.get("updated_at") or "")[:16].replace("T", " ")
    place = "here" if session["owner"] == "cli" else str(session.get("link") or session["owner"])
    return [session["id"][:12], title, f"{session['message_count']} messages", when, place]


def _has_title(session: Json, wanted: str) -> bool:
    return str(session.get("title") or "").strip().casefold() == wanted


def _begins_with(session: Json, wanted: str) -> bool:
    title = str(session.get("title") or "").strip().casefold()
    return title.startswith(wanted) or session["id"].casefold().startswith(wanted)


def _choices(name: str, found: list[Json]) -> str:
    listed = "; ".join(f"{session['id'][:12]} {display(session)}" for session in found[:_SHOWN])
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"“{one_line(name, 60)}” matches {len(found)} sessions: {listed}{more}. Use more of the title, or an id."
