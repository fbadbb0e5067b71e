"""Run the commands of shared/domain/commands.py that people type in a chat."""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from shared.domain.commands import help_text
from shared.domain.sessions import Session
from shared.errors import PlaceBusy, PlatformError
from shared.ports.inbox import InboxRow
from shared.services import Services
from shared.use_cases.access import is_taken_by_another_user, open_to
from shared.use_cases.sessions.move_to_chat import move_to_chat, start_in_chat

LISTED = 10
ANOTHER_USERS = "Another user's session lives here, so nothing was changed. Use your own chat or thread instead."


def run_command(services: Services, row: InboxRow, command: str, argument: str) -> str:
    """Run a command and return the answer. Safe to repeat."""
    try:
        return HANDLERS[command](services, row, argument)
    except PlaceBusy:  # another user's session moved here after the check
        return ANOTHER_USERS


def _help(_: Services, __: InboxRow, ___: str) -> str:
    return help_text()


def _handoff(_: Services, __: InboxRow, ___: str) -> str:
    return "Type `/handoff` in a terminal to move its session here. In a chat, `/resume` brings a session here."


def _stop(_: Services, __: InboxRow, ___: str) -> str:
    return "Stopped. The unfinished answer is dropped. Your next message continues the session."


def _sethome(services: Services, row: InboxRow, _: str) -> str:
    try:
        home = open_to(services, row.user_id, row.place.home).place
    except PlatformError as error:
        return f"This chat cannot be your home: {error}."
    services.store.accounts.set_home(row.user_id, home)
    return f"This chat is now your home on {home.platform}. Your handoffs arrive here."


def _status(services: Services, row: InboxRow, _: str) -> str:
    session_id = services.store.sessions.at(row.place)
    session = services.store.sessions.get(session_id) if session_id else None
    if session is None or session.user_id != row.user_id:
        return "No session lives here. Send `/resume` to list yours, or `/new` to start one."
    where = "here" if session.owner == row.place else _whereabouts(session)
    busy = " The agent is working on it." if session.has_live_turn(services.clock.now()) else ""
    return f"**{session.shown_title}** (`{session.id}`) lives {where}: {session.message_count} messages.{busy}"


def _new(services: Services, row: InboxRow, _: str) -> str:
    if is_taken_by_another_user(services, row):
        return ANOTHER_USERS
    start_in_chat(services, row, seed=f"new {row.event_id}")
    return "A new session starts here. The previous one is saved: send `/resume` to list your sessions."


def _resume(services: Services, row: InboxRow, wanted: str) -> str:
    sessions = services.store.sessions.list(row.user_id, limit=100).sessions
    exact = services.store.sessions.get(wanted) if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", wanted) else None
    is_mine = exact is not None and exact.user_id == row.user_id
    matches = [exact] if exact is not None and is_mine else _matching(sessions, wanted)
    if not wanted or not matches:
        intro = "Your sessions:" if not wanted else f"You have no session “{wanted}”. Your sessions:"
        return _listing(intro, sessions) if sessions else "You have no sessions yet. Send `/new` to start one."
    if len(matches) > 1:
        return _listing(f"Several sessions match “{wanted}”:", matches)
    session = matches[0]
    if session.owner == row.place:
        return f"**{session.shown_title}** already lives here."
    if is_taken_by_another_user(services, row):
        return ANOTHER_USERS
    move_to_chat(services, row.user_id, session.id, row.place)
    return f"**{session.shown_title}** is here now, with {session.message_count} messages. Continue here."


def _matching(sessions: Sequence[Session], wanted: str) -> list[Session]:
    low = wanted.casefold()
    titled = [session for session in sessions if (session.title or "").casefold() == low]
    return titled or [
        session
        for session in sessions
        if (session.title or "").casefold().startswith(low) or session.id.startswith(wanted)
    ]


def _listing(intro: str, sessions: Sequence[Session]) -> str:
    lines = [
        f"- **{session.shown_title}** — {_whereabouts(session)} — `/resume {session.id}`"
        for session in sessions[:LISTED]
    ]
    return "\n".join([intro, *lines])


def _whereabouts(session: Session) -> str:
    return "in the terminal" if session.owner.is_cli else f"at {session.link or session.owner.route}"


HANDLERS: Mapping[str, Callable[[Services, InboxRow, str], str]] = MappingProxyType(
    {
        "resume": _resume,
        "new": _new,
        "sethome": _sethome,
        "status": _status,
        "stop": _stop,
        "help": _help,
        "start": _help,
        "handoff": _handoff,
    }
)
