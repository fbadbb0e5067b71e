"""Answer the inbox of a place: commands one by one, all other new messages of a user together."""

import itertools
import logging
from collections.abc import Sequence

from shared.domain.commands import parse_command
from shared.errors import NewerVersion, NotYet, Rejected
from shared.ports.inbox import InboxRow
from shared.ports.queue import InboxEvent
from shared.services import Services
from shared.use_cases.access import evict_other_users
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
from shared.use_cases.sessions.move_to_chat import replace_broken, start_in_chat
from shared.use_cases.turns.accept_turn import release_accepted
from shared.use_cases.turns.budget import TurnBudget
from shared.use_cases.turns.deliver import deliver_reply, platform_of, post_notice
from shared.use_cases.turns.run_user_turn import run_user_turn

log = logging.getLogger(__name__)
ROWS_PER_TURN = 25


def answer_inbox(services: Services, message: InboxEvent, budget: TurnBudget) -> None:
    """Answer the new rows of a place, or finish the delivery of the turn that has answered them. Safe to run twice.

    Raises NotYet(0) while earlier rows must be answered first, NewerVersion for a row that only a newer worker can answer.
    """
    row = services.store.inbox.get(message.place, message.event_id)
    if row is None:
        return
    if row.is_newer:
        raise NewerVersion("the inbox row")
    if row.done_by is not None:
        _finish_delivery(services, row)
        return
    if row.private:
        evict_other_users(services, row.user_id, row.place)
    rows = _new_rows(services, row)
    if not _can_answer(services, row):
        services.store.inbox.close(rows, by="platform removed")
        return
    if command := _command(rows[0]):
        _run_command(services, rows[0], *command)
        answered = rows[:1]
    else:
        # Rows of different users belong to different sessions: answer those that belong to the oldest row.
        asking = row if _belong_together(row, rows[0]) else rows[0]
        before_command = itertools.takewhile(lambda new: not _command(new), rows)
        answered = [new for new in before_command if _belong_together(new, asking)]
        _answer_rows(services, asking, answered, budget)
    if row.event_id not in {done.event_id for done in answered}:
        raise NotYet(0)


def _belong_together(row: InboxRow, other: InboxRow) -> bool:
    """Whether one turn may answer both: one user, and in a terminal the same epoch."""
    return (row.user_id, row.epoch) == (other.user_id, other.epoch)


def _new_rows(services: Services, row: InboxRow) -> list[InboxRow]:
    """The oldest new rows of the place, never empty; `row` is among them unless the page is full.

    The store may have passed over `row`, which can be older than rows that are answered already.
    """
    rows = list(services.store.inbox.new(row.place, limit=ROWS_PER_TURN))
    if len(rows) < ROWS_PER_TURN and row.event_id not in {new.event_id for new in rows}:
        rows = sorted([row, *rows], key=lambda new: new.event_id)
    return rows


def _answer_rows(services: Services, asking: InboxRow, rows: Sequence[InboxRow], budget: TurnBudget) -> None:
    match locate_session(services, asking):
        case Found(session):
            run_user_turn(services, session, rows, budget)
        case Vacant():
            run_user_turn(services, start_in_chat(services, asking, seed="home"), rows, budget)
        case Broken(session, notice):
            # The notice goes first: a repeat after a crash finds only the new session and would not send it.
            post_notice(services, asking, notice, key="fresh")
            run_user_turn(services, replace_broken(services, asking, session), rows, budget)
        case Elsewhere(notice):
            post_notice(services, asking, notice)
            services.store.inbox.close(rows, by="told")
            release_accepted(services, asking)
        case Outdated(notice):
            post_notice(services, asking, notice)
            services.store.inbox.close(rows, by="outdated")
            release_accepted(services, asking)
        case NotAddressed():
            services.store.inbox.close(rows, by="ignored")


def _can_answer(services: Services, row: InboxRow) -> bool:
    """Whether the platform is still configured: without it neither an agent nor a command is run in vain."""
    try:
        if not row.place.is_cli:
            platform_of(services, row.place)
    except Rejected as rejected:
        log.warning("messages are left unanswered: %s", rejected)
        return False
    return True


def _command(row: InboxRow) -> tuple[str, str] | None:
    return None if row.place.is_cli else parse_command(row.text)


def _run_command(services: Services, row: InboxRow, command: str, argument: str) -> None:
    post_notice(services, row, run_command(services, row, command, argument))
    services.store.inbox.close([row], by="command")


def _finish_delivery(services: Services, row: InboxRow) -> None:
    session_id, _, turn_id = (row.done_by or "").partition("/")
    if turn_id:
        deliver_reply(services, row, session_id, turn_id)
