"""A user turn: one run of the agent that answers new messages, committed and delivered."""

import contextlib
import logging
from collections.abc import Sequence

from shared.domain.interruptions import note_for
from shared.domain.messages import Message, fitting_reply
from shared.domain.sessions import Interruption, Session, TurnLease
from shared.errors import AgentError, AgentFailed, AgentUnavailable, Conflict, NotYet, Rejected, TooManyTurns
from shared.ports.inbox import InboxRow
from shared.ports.turns import TurnCommit
from shared.services import Services
from shared.use_cases.access import accepted_turn, turn_of
from shared.use_cases.backoff import backoff
from shared.use_cases.turns.budget import TurnBudget
from shared.use_cases.turns.deliver import deliver_reply, parts_for, say
from shared.use_cases.turns.hold_turn import heartbeat, mark_if_broken, refuse_live_turn, release, start_turn
from shared.use_cases.turns.run_kickoff import run_kickoff

log = logging.getLogger(__name__)
AGENT_TRIES = 5
RETRY_PAUSE = 1.0
HOUR = 3_600_000
ACCEPTED_MARGIN = 120_000
"""Milliseconds that a terminal's turn stays accepted after its next try is due, so that a late retry finds it."""


def run_user_turn(services: Services, session: Session, rows: Sequence[InboxRow], budget: TurnBudget) -> None:
    """Answer `rows` in one turn of the session. Safe to run twice.

    Raises Busy while another turn is alive, NotYet to be run again later, Conflict if the session changed.
    """
    accepted = {accepted_turn(row) for row in rows}
    refuse_live_turn(services, session, accepted=accepted)
    session = _after_kickoff(services, session, budget)
    if session.strikes >= services.settings.strikes:
        turn_id = _suspend(services, start_turn(services, session, counts=False, accepted=accepted), rows)
        deliver_reply(services, rows[0], session.id, turn_id)
        return
    if not _is_within_limit(services, rows):
        return
    held = start_turn(services, session, counts=True, accepted=accepted)
    with mark_if_broken(services, held):
        turn_id = _run_agent(services, held, rows, budget)
    log.info("session %s: answered %d message(s)", session.id, len(rows))
    deliver_reply(services, rows[0], session.id, turn_id)


def _is_within_limit(services: Services, rows: Sequence[InboxRow]) -> bool:
    """Count the turn. Over the limit the messages are refused, and the user is told once in this hour at this place.

    A terminal's turn was counted when it was accepted.
    """
    first, now = rows[0], services.clock.now()
    if first.place.is_cli:
        return True
    try:
        services.store.usage.take_turn(first.user_id, turn_of(first), now=now)
    except TooManyTurns as limit:
        text = f"{limit.message} Until then messages here are not answered and not kept: send them again afterwards."
        with contextlib.suppress(Rejected):
            say(services, first.place, text, key=f"limit-{first.user_id}-{now // HOUR}")
        services.store.inbox.close(rows, by="limited")
        return False
    return True


def _after_kickoff(services: Services, session: Session, budget: TurnBudget) -> Session:
    """Run the kickoff first if it is due: a message sent during the handoff can be ahead of it in the queue."""
    handoff = services.store.handoffs.get(session.active_handoff) if session.active_handoff else None
    if handoff is None or not handoff.is_open or handoff.confirmed or not handoff.is_bound:
        return session
    run_kickoff(services, handoff.id, budget)
    current = services.store.sessions.get(session.id)
    if current is None or current.owner != session.owner:
        raise Conflict(f"session {session.id} moved during its kickoff")
    return current


def _run_agent(services: Services, held: Session, rows: Sequence[InboxRow], budget: TurnBudget) -> str:
    """Let the agent answer and commit its reply; returns the turn's id."""
    place = rows[0].place
    transcript = list(services.store.transcripts.load(held.id))
    said = _said(rows)
    note = note_for(held, transcript, has_new_message=True)
    try:
        with heartbeat(services, held, place, budget.visibility):
            reply = fitting_reply(services.agent().reply([*transcript, *said], note=note, deadline=budget.deadline))
    except AgentError as error:
        reply = _after_agent_error(services, held, rows[0], error, budget)
    turn_id = turn_of(rows[0])
    commit = TurnCommit(
        session=held,
        messages=[*said, {"role": "assistant", "content": reply}],
        turn_id=turn_id,
        parts=parts_for(services, held.id, turn_id, place, reply),
        rows=rows,
    )
    try:
        services.store.turns.commit(commit, now=services.clock.now())
    except Conflict:
        release(services, held, uncount=True, waiting=_still_accepted(services, rows[0], RETRY_PAUSE))
        raise
    return turn_id


def _said(rows: Sequence[InboxRow]) -> list[Message]:
    return [{"role": "user", "content": row.text, "id": f"{row.place.route}/{row.event_id}"} for row in rows]


def _after_agent_error(services: Services, held: Session, row: InboxRow, error: AgentError, budget: TurnBudget) -> str:
    """Raise NotYet for an error that is worth a retry; otherwise return the reply that tells the user."""
    if services.clock.now() >= budget.deadline:
        waiting = _still_accepted(services, row, RETRY_PAUSE)
        release(services, held, interrupted=Interruption.OUT_OF_TIME, waiting=waiting)
        raise NotYet(RETRY_PAUSE) from error
    tries = held.tries_of(turn_of(row)) + 1
    if isinstance(error, AgentUnavailable) and tries < AGENT_TRIES:
        pause = error.after or backoff(tries, first=10.0, longest=60.0)
        waiting = _still_accepted(services, row, pause)
        release(services, held, uncount=True, waiting=waiting, failed_turn=turn_of(row))
        raise NotYet(pause) from error
    tried = "" if isinstance(error, AgentFailed) else " I tried several times."
    return f"I could not answer: {str(error).rstrip('.')}.{tried} Your message is saved. Send another one to try again."


def _still_accepted(services: Services, row: InboxRow, pause: float) -> TurnLease | None:
    """Keep a terminal's turn accepted until its next try, so that no handoff starts before it."""
    if not row.place.is_cli:
        return None
    return TurnLease(accepted_turn(row), services.clock.now() + int(pause * 1000) + ACCEPTED_MARGIN)


def _suspend(services: Services, held: Session, rows: Sequence[InboxRow]) -> str:
    """Give the session up after too many failed turns, and tell the user; the next message starts a new session.

    The messages that could not be answered stay in the transcript. Returns the id of this turn.
    """
    place, turn_id, strikes = rows[0].place, turn_of(rows[0]), services.settings.strikes
    notice = (
        f"I was interrupted {strikes} times in a row in this session, so I stopped trying. "
        f"The transcript is saved: send `/resume {held.id}` to bring the session back. "
        "Your next message starts a new session."
    )
    # Terminals only poll the transcript, so the notice is appended to it.
    told: list[Message] = [{"role": "assistant", "content": notice}] if place.is_cli else []
    commit = TurnCommit(
        session=held,
        messages=[*_said(rows), *told],
        turn_id=turn_id,
        parts=parts_for(services, held.id, turn_id, place, notice),
        rows=rows,
        suspends=True,
    )
    try:
        services.store.turns.commit(commit, now=services.clock.now())
    except Conflict:
        release(services, held)
        raise
    log.info("session %s: suspended after %d strikes", held.id, strikes)
    return turn_id
