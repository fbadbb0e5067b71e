"""Sessions by the names that people give them: found by title or id, shown in lines."""

import re

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.errors import Ambiguous, Refused
from handoff_cli.ui.tables import aligned
from handoff_cli.ui.texts import one_line

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHOWN = 10


def find_session(service: Service, name: str) -> Json:
    """The one session with this id or title; else the one that begins so. Raises Refused or Ambiguous."""
    if _ID.fullmatch(name):
        try:
            return service.session(name)
        except Refused as refusal:
            if refusal.status != 404:
                raise
    wanted = name.strip().casefold()
    # An empty name (a script's variable that was not set) means no session, not one that has no title.
    sessions = list(service.sessions()) if wanted else []
    for fits in (_title_is, _begins):
        found = [session for session in sessions if fits(session, wanted)]
        if len(found) == 1:
            return found[0]
        if found:
            raise Ambiguous(_choices(name, found), candidates=found)
    detail = f"No session has the title or id “{one_line(name, 60)}”. See them all with: handoff sessions"
    raise Refused({"code": "unknown_session", "detail": detail}, status=404)


def display(session: Json) -> str:
    """A session for a person: its title, or the beginning of its id."""
    return f"“{one_line(str(session['title']), 60)}”" if session.get("title") else f"session {session['id'][:8]}"


def display_table(sessions: list[Json]) -> list[str]:
    """One line per session: id, title, size, time, and where it lives."""
    return aligned([_row(session) for session in sessions])


def _row(session: Json) -> list[str]:
    title = one_line(str(session.get("title") or "(no title)"), 48)
    when = str(session.get("updated_at") or "")[:16].replace("T", " ")
    lives = "here" if session["owner"] == "cli" else str(session.get("link") or session["owner"])
    return [session["id"][:12], title, f"{session['message_count']} messages", when, lives]


def _title_is(session: Json, wanted: str) -> bool:
    return str(session.get("title") or "").strip().casefold() == wanted


def _begins(session: Json, wanted: str) -> bool:
    title = str(session.get("title") or "").strip().casefold()
    return title.startswith(wanted) or session["id"].casefold().startswith(wanted)


def _choices(name: str, found: list[Json]) -> str:
    listed = "; ".join(f"{session['id'][:12]} {display(session)}" for session in found[:_SHOWN])
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"“{one_line(name, 60)}” fits {len(found)} sessions: {listed}{more}. Use more of the title, or an id."
