"""Answer the inbox of a place: run a command, offer a turn for messages, or say where the session is."""

import contextlib
import itertools
import logging
from collections.abc import Iterator, Sequence

from shared.domain.commands import is_order, moves
from shared.domain.routes import Place
from shared.domain.sessions import Executor, Session
from shared.errors import Busy, Conflict, NewerVersion, PlatformError, Rejected
from shared.ports.queue import InboxEvent
from shared.services import Services
from shared.store.inbox import DEAD, STOPPED, InboxRow
from shared.use_cases.access import evict_other_users, is_taken_by_another_user, platform_of, session_at
from shared.use_cases.chat.commands import run_command
from shared.use_cases.chat.locate_session import (
    Broken,
    Elsewhere,
    Found,
    NotAddressed,
    Outdated,
    Vacant,
    locate_session,
)
from shared.use_cases.chat.move_command import outcome
from shared.use_cases.chat.session_commands import close_thread
from shared.use_cases.chat.share_command import NOT_FOR_GUESTS, is_guests
from shared.use_cases.chat.tell_unreadable import tell_unreadable
from shared.use_cases.deliver import answer_with_notice, deliver_done_row, is_told, say
from shared.use_cases.files.wait_for_files import album_groups, ready_rows, tell_read
from shared.use_cases.offers import send_run, send_show
from shared.use_cases.questions.decide import question_for_words
from shared.use_cases.retry import on_conflict
from shared.use_cases.sessions.move_to_chat import replace_broken, start_in_chat
from shared.use_cases.turns.budget import TurnBudget
from shared.use_cases.turns.offer_turn import HOUR, offer_kickoff, offer_words
from shared.use_cases.turns.settle import settle

log = logging.getLogger(__name__)
ROWS_PER_TURN = 25
COMMAND = "command"
LONGEST_WAIT = 15.0
"""Seconds between two looks at messages that wait for the end of a handoff; the first looks follow sooner."""


def answer_inbox(services: Services, message: InboxEvent, budget: TurnBudget) -> None:
    """Run the command of an event, or look at the inbox of its place. Safe to run twice.

    Raises NotYet to be run again later, NewerVersion for a row that only a newer worker can answer.
    """
    row = services.store.inbox.get(message.place, message.event_id)
    if row is None:
        return
    if row.is_newer:
        raise NewerVersion("the inbox row")
    if row.done_by is not None:
        _finish(services, row, row.done_by, budget)
        return
    if row.private or _is_private(services, row):
        evict_other_users(services, row.user_id, row.place)
    if not _can_answer(services, row.place):
        services.store.inbox.close([row], by="platform removed")
    elif row.command:
        _run_command(services, row, *row.command, budget)
    else:
        look_at_inbox(services, row.place, budget, expected=row.event_id)


def _is_private(services: Services, row: InboxRow) -> bool:
    """Whether the chat is private, where the message did not say. Asked only if another user's session is in the way."""
    if row.place.is_cli:
        return False
    try:
        platform = platform_of(services, row.place)
        if platform.capabilities.tells_private or not is_taken_by_another_user(services, row.place, row.user_id):
            return False
        return platform.is_private(row.place.home, person=row.sender)
    except PlatformError:
        return False


def _finish(services: Services, row: InboxRow, done_by: str, budget: TurnBudget) -> None:
    """Do what the first reader of a row that is done may have left: it died, or `/stop` or the sweep has closed a command."""
    deliver_done_row(services, row, until=budget.deadline)
    if done_by in (STOPPED, DEAD):
        _tell_outcome(services, row)
    if done_by in (COMMAND, STOPPED, DEAD):  # messages may have waited behind it
        look_at_inbox(services, row.place, budget)


def _run_command(services: Services, row: InboxRow, name: str, argument: str, budget: TurnBudget) -> None:
    if is_guests(services, row, name):
        # Once in an hour: a guest cannot fill the thread with refusals.
        with contextlib.suppress(Rejected):
            hour = services.clock.now() // HOUR
            say(services, row.place, NOT_FOR_GUESTS, key=f"guest-{row.user_id}-{row.place.route}-{hour}")
    else:
        # A command that moves has run once its answer is journalled, and the journal keeps the first answer: until that
        # is posted, a session that was moved elsewhere since must not be pulled back. An order is made once, likewise.
        has_run = (moves(row.command) or is_order(row.command)) and is_told(services, row)
        answer_with_notice(services, row, "…" if has_run else run_command(services, row, name, argument))
        if name == "handoff" or is_order(row.command):
            _tell_outcome(services, row)
        if name == "close":
            close_thread(services, row)
    services.store.inbox.close([row], by=COMMAND)
    # The wake-ups of messages that came after it may have come before it; `/stop` may have closed such a command.
    if moves(row.command) or name in ("stop", "retry"):
        look_at_inbox(services, row.place, budget)


def _tell_outcome(services: Services, row: InboxRow) -> None:
    """Say how the handoff ended that a command asked for, if it asked for one. Raises Busy before the end.

    The row stays new until then, so that messages after it wait, and a chat that got the notice of a move gets that of its end.
    """
    told = outcome(services, row)
    if told is not None:
        answer_with_notice(services, row, told, key="moved")


def look_at_inbox(services: Services, place: Place, budget: TurnBudget, *, expected: str | None = None) -> None:
    """Offer a turn for the new rows of a place, unless one is alive: its end wakes the place. Safe to repeat.

    `expected` is the event of a row that may be older than those that the store looks at. Raises NotYet.
    """

    def look() -> None:
        rows = _new_words(services, place, expected)
        for row in rows:
            if row.is_unreadable:
                _answer_unreadable(services, row)
        readable = [row for row in rows if not row.is_unreadable]
        for group in _conversations(services, place, readable):
            _answer(services, group, budget)

    on_conflict(look)


def _conversations(services: Services, place: Place, rows: Sequence[InboxRow]) -> Iterator[list[InboxRow]]:
    """Rows that one turn may answer: those of each user, or in a shared thread all of them, in their order."""
    if len({row.user_id for row in rows}) > 1:
        session = session_at(services, place)
        if session is not None and session.shared:
            yield list(rows)
            return
    for _, group in itertools.groupby(sorted(rows, key=_asker), key=_asker):
        yield list(group)


def _asker(row: InboxRow) -> tuple[str, int]:
    """Rows with the same asker may be answered by one turn: one user, and in a terminal the same epoch."""
    return row.user_id, -1 if row.epoch is None else row.epoch


def _new_words(services: Services, place: Place, expected: str | None) -> list[InboxRow]:
    """The oldest new rows of the place up to a command that moves its session; other commands run in their own line."""
    rows = list(services.store.inbox.new(place, limit=ROWS_PER_TURN))
    if expected is not None and len(rows) < ROWS_PER_TURN and expected not in {row.event_id for row in rows}:
        row = services.store.inbox.get(place, expected)  # read again: a turn may have answered it since
        if row is not None and row.done_by is None:
            rows = sorted([row, *rows], key=lambda row: row.event_id)
    before_move = itertools.takewhile(lambda row: not moves(row.command), rows)
    return [row for row in before_move if not row.command]


def _answer_unreadable(services: Services, row: InboxRow) -> None:
    """Say that a message cannot be read, where words of its sender would be answered. It starts no session."""
    if not isinstance(locate_session(services, row), NotAddressed):
        tell_unreadable(services, row)
    services.store.inbox.close([row], by="unreadable")


def _answer(services: Services, rows: Sequence[InboxRow], budget: TurnBudget) -> None:
    asking = _asking(services, rows)
    match locate_session(services, asking):
        case Found(session):
            _go_on(services, session, rows, budget)
        case Vacant():
            _go_on(services, start_in_chat(services, asking, seed="home"), rows, budget)
        case Broken(session, notice):
            settle(services, session.id, until=budget.deadline)
            # The notice goes first: a repeat after a crash finds only the new session and would not send it.
            answer_with_notice(services, asking, notice, key="fresh")
            _go_on(services, replace_broken(services, asking, session), rows, budget)
        case Elsewhere(notice):
            _tell(services, rows, notice, by="told")
        case Outdated(notice):
            _tell(services, rows, notice, by="outdated")
        case NotAddressed():
            services.store.inbox.close(rows, by="ignored")


def _asking(services: Services, rows: Sequence[InboxRow]) -> InboxRow:
    """The row that decides how the session goes on: the owner's, if one of several speakers is the owner."""
    if len({row.user_id for row in rows}) == 1:
        return rows[0]
    session = session_at(services, rows[0].place)
    return next((row for row in rows if session is not None and row.user_id == session.user_id), rows[0])


def _go_on(services: Services, located: Session, rows: Sequence[InboxRow], budget: TurnBudget) -> None:
    """Offer a turn once everything earlier is delivered. A kickoff comes first."""
    session = settle(services, located.id, until=budget.deadline)
    if session is None or session.owner != rows[0].place:
        raise Conflict(f"session {located.id} moved while its place was looked at")
    services.store.inbox.close([row for row in rows if not session.accepts_from(row.user_id)], by="ignored")
    rows = ready_rows(services, session, [row for row in rows if session.accepts_from(row.user_id)])
    if not rows:
        return
    for row in rows:
        _tell_missing(services, row)
    if session.turn is not None and session.turn.by is Executor.MACHINE:
        _steer(services, session, rows)
    elif session.turn is not None:
        if budget.tries > 1 and not session.turn.is_claimed:
            # An earlier reader of this message may have died before it sent the run.
            send_run(services, session.id, session.turn.id)
    elif not kickoff_comes_first(services, session):
        if session.active_handoff and _is_leaving(services, session.active_handoff):
            raise Busy(LONGEST_WAIT)
        offer_words(services, session, rows)


def _tell_missing(services: Services, row: InboxRow) -> None:
    """Say what of a message does not reach the agent, and what was understood of a voice message."""
    if row.attachments:
        tell_unreadable(services, row)
    tell_read(services, row)


def _is_leaving(services: Services, handoff_id: str) -> bool:
    """Whether a handoff is about to move the session away: what it does here would be cut off."""
    handoff = services.store.handoffs.get(handoff_id)
    return handoff is not None and handoff.is_open and not handoff.is_bound


def _steer(services: Services, session: Session, rows: Sequence[InboxRow]) -> None:
    """Give messages to a machine's turn that is at work; those that it does not take are answered after it.

    One that was said after a question answers that, where it takes words. If the user has chosen the deployment's agent
    since, all of them are answered after it: the machine only finishes what it works on.
    """
    offer = services.store.turns.get(session.id, session.turn.id) if session.turn else None
    if offer is None or session.answers is Executor.CLOUD:
        return
    turns, now = services.store.machine_turns, services.clock.now()
    for row, *beside in album_groups([row for row in rows if row.event_id not in offer.rows and not row.queued]):
        question = None if row.files or beside else question_for_words(services, session, row)
        if question is not None and turns.steer(session, row, answers=question, now=now):
            send_show(services, offer, why=f"words {question.fence} {question.number}")
        elif not turns.steer(session, row, beside=beside):
            return
    queued = [row.event_id for row in rows if row.queued]
    if queued and turns.wait(offer, queued):
        send_show(services, offer, why=f"queued {queued[-1]}")


def kickoff_comes_first(services: Services, session: Session) -> bool:
    """Offer the kickoff of a handoff that has moved the session without one; False if there is none. Raises Conflict."""
    handoff = services.store.handoffs.get(session.active_handoff) if session.active_handoff else None
    if handoff is None or not handoff.is_open or not handoff.is_bound or handoff.confirmed:
        return False
    offer_kickoff(services, session, handoff)
    return True


def _tell(services: Services, rows: Sequence[InboxRow], notice: str, *, by: str) -> None:
    """Answer rows with a notice. A terminal's waits for the end of its session's turn, which looks at the inbox again."""
    place = rows[0].place
    session = services.store.sessions.get(place.chat) if place.is_cli else None
    if session is not None and session.turn is not None:
        return
    answer_with_notice(services, rows[0], notice)
    services.store.inbox.close(rows, by=by)


def _can_answer(services: Services, place: Place) -> bool:
    """Whether the platform is still configured: without it neither an agent nor a command is run in vain."""
    try:
        if not place.is_cli:
            platform_of(services, place)
    except Rejected as rejected:
        log.warning("messages are left unanswered: %s", rejected)
        return False
    return True
