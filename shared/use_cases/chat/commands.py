"""Run the commands of shared/domain/commands.py that people type in a chat."""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from shared.domain.commands import help_text, is_order
from shared.domain.dials import DIALS, is_now
from shared.domain.routes import Place
from shared.domain.sessions import Executor, Session
from shared.errors import PlaceBusy, PlatformError
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.access import is_taken_by_another_user, open_to
from shared.use_cases.chat.bring_command import begin, bring, list_projects
from shared.use_cases.chat.close_earlier import close_earlier
from shared.use_cases.chat.dial_commands import dial_command, diff
from shared.use_cases.chat.executor_commands import choose_cloud, choose_machine, own_session_at
from shared.use_cases.chat.move_command import hand_off, stop_move
from shared.use_cases.chat.pair import answer_link
from shared.use_cases.chat.question_commands import answer_question, approve, deny, skip_question
from shared.use_cases.chat.session_commands import close, retry, set_title
from shared.use_cases.chat.session_list import list_sessions
from shared.use_cases.chat.share_command import share
from shared.use_cases.chat.usage_commands import set_budget, show_usage
from shared.use_cases.offers import wake_place
from shared.use_cases.service_models import service_model, service_models
from shared.use_cases.sessions.move_to_chat import move_to_chat, start_in_chat
from shared.use_cases.unattended import UNATTENDED, is_unattended

LISTED = 10
ANOTHER_USERS = "Another user's session lives here, so nothing was changed. Use your own chat or thread instead."


def run_command(services: Services, row: InboxRow, command: str, argument: str) -> str:
    """Run a command and return the answer. Safe to repeat."""
    try:
        return HANDLERS[command](services, row, argument)
    except PlaceBusy:  # another user's session moved here after the check
        return ANOTHER_USERS


def _help(services: Services, row: InboxRow, _: str) -> str:
    """The commands here, and those that the agent of the sender's session has itself."""
    session = own_session_at(services, row)
    if session is None or session.answers is Executor.CLOUD:
        return help_text()
    return help_text(session.commands)


def _queue(_: Services, __: InboxRow, ___: str) -> str:
    return "Send `/queue` with the words that are to wait until the agent has answered."


def _stop(services: Services, row: InboxRow, _: str) -> str:
    """The webhook has stopped the turn already: this is the answer, and stops a move that has only been asked for."""
    if is_taken_by_another_user(services, row.place, row.user_id):
        return ANOTHER_USERS
    if (said := stop_move(services, row)) is not None:
        return said
    session_id = services.store.sessions.at(row.place)
    session = services.store.sessions.get(session_id) if session_id else None
    if session is not None and session.turn is not None and session.active_handoff:
        return "The agent is still confirming the handoff: that is not stopped. What you said before is dropped."
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
    if session is not None and session.user_id != row.user_id and session.shared and session.owner == row.place:
        return "A session of another user lives here and is shared: you may talk here, and only they can change it."
    if session is None or session.user_id != row.user_id:
        return "No session lives here. Send `/resume` to list yours, or `/new` to start one."
    where = "here" if session.owner == row.place else _whereabouts(session)
    busy = " The agent is working on it." if session.has_live_turn(services.clock.now()) else ""
    shared = " It is shared." if session.shared and session.owner == row.place else ""
    shown = f"**{session.shown_title}** (`{session.id}`) lives {where}: {session.message_count} messages."
    dials = "".join(f" {is_now(dial, value)}." for dial, value in session.dials.items())
    is_machines = session.answers is Executor.MACHINE
    return f"{shown}{shared}{_answers(services, session)}{dials if is_machines else _model(services, session)}{busy}"


def _model(services: Services, session: Session) -> str:
    """The model that answers, where the user can choose one."""
    settings = services.settings
    return f" {is_now('model', service_model(settings, session))}." if service_models(settings) else ""


def _answers(services: Services, session: Session) -> str:
    """Who answers, if the session has an agent of the user's own."""
    if session.runs_on is None:
        return ""
    if session.answers is Executor.MACHINE:
        runner = services.store.runners.get(session.user_id, session.runs_on.runner)
        how = f", {UNATTENDED}" if is_unattended(runner, session) else ""
        return f" Your own {session.runs_on.agent} answers{how}."
    return f" The model of this service answers; `/machine` lets your own {session.runs_on.agent} answer again."


def _new(services: Services, row: InboxRow, argument: str) -> str:
    if is_order(("new", argument)):
        return begin(services, row, argument)
    if not argument and (listed := list_projects(services, row)) is not None:
        return listed
    if is_taken_by_another_user(services, row.place, row.user_id):
        return ANOTHER_USERS
    left = close_earlier(services, row)
    before = services.store.sessions.at(row.place)
    fresh = start_in_chat(services, row, seed=f"new {row.event_id}")
    _wake_left(services, row.place, before, fresh)
    return f"A new session starts here. The previous one is saved: send `/resume` to list your sessions.{left}"


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
    if is_taken_by_another_user(services, row.place, row.user_id):
        return ANOTHER_USERS
    left = close_earlier(services, row)
    before = services.store.sessions.at(row.place)
    _wake_left(services, row.place, before, move_to_chat(services, row.user_id, session.id, row.place))
    return f"**{session.shown_title}** is here now, with {session.message_count} messages. Continue here.{left}"


def _wake_left(services: Services, place: Place, before: str | None, now_here: Session) -> None:
    """Let the turns of the session that left the place be settled."""
    if before is not None and before != now_here.id:
        wake_place(services, place, before, why=f"left {now_here.id} {now_here.epoch}")


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
        "handoff": hand_off,
        "share": share,
        "cloud": choose_cloud,
        "machine": choose_machine,
        "approve": approve,
        "deny": deny,
        "answer": answer_question,
        "skip": skip_question,
        "queue": _queue,
        "link": answer_link,
        **{dial: dial_command(dial) for dial in DIALS},
        "diff": diff,
        "sessions": list_sessions,
        "bring": bring,
        "title": set_title,
        "retry": retry,
        "close": close,
        "usage": show_usage,
        "budget": set_budget,
    }
)
