"""A user turn: everything new that people said at a place, answered together by one run of the agent."""

import itertools
import logging
from collections.abc import Sequence
from dataclasses import replace

from shared.domain.commands import parse_command
from shared.domain.interruptions import note_for, suspend
from shared.domain.messages import Message
from shared.domain.sessions import Interruption, Session, TurnLease
from shared.errors import AgentError, AgentFailed, AgentUnavailable, Conflict, NotYet, PlaceGone, Rejected
from shared.ports.inbox import InboxRow
from shared.ports.queue import InboxEvent
from shared.ports.turns import TurnCommit
from shared.services import Services
from shared.use_cases.access import accepted_turn, turn_of
from shared.use_cases.backoff import backoff
from shared.use_cases.chat.commands import run_command
from shared.use_cases.chat.locate_session import Broken, Elsewhere, Found, NotAddressed, Vacant, locate_session
from shared.use_cases.retry import on_conflict
from shared.use_cases.sessions.move_to_chat import replace_broken, start_in_chat
from shared.use_cases.turns.accept_turn import release_accepted
from shared.use_cases.turns.budget import TurnBudget
from shared.use_cases.turns.deliver import deliver, parts_for, say
from shared.use_cases.turns.hold_turn import heartbeat, mark_if_broken, refuse_live_turn, release, start_turn
from shared.use_cases.turns.run_kickoff import run_kickoff

log = logging.getLogger(__name__)
ROWS_PER_TURN = 25
AGENT_TRIES = 5
PROMISE_MARGIN = 120_000


def answer_inbox(services: Services, message: InboxEvent, budget: TurnBudget) -> None:
    """Answer the new rows of a place, or finish the delivery of the turn that has answered them. Safe to run twice."""
    place = message.place
    row = services.store.inbox.get(place, message.event_id)
    if row is None:
        return
    if row.done_by is not None:
        _finish(services, row)
        return
    rows = _new_rows(services, row)
    if rows and (command := _command(rows[0])):
        _run_command(services, rows[0], *command)
        answered = rows[:1]
    else:
        # Each person's words find a session of their own; whoever spoke first comes first.
        asking = rows[0] if rows and rows[0].user_id != row.user_id else row
        spoken = itertools.takewhile(lambda new: not _command(new), rows)
        answered = [new for new in spoken if new.user_id == asking.user_id]
        _answer_rows(services, asking, answered, budget)
    if row.event_id not in {done.event_id for done in answered}:
        raise NotYet(0)  # what was said before it came first; this one is next


def _new_rows(services: Services, row: InboxRow) -> list[InboxRow]:
    """What is new at the place, this row among it even if much that came after it has been answered already."""
    rows = list(services.store.inbox.new(row.place, limit=ROWS_PER_TURN))
    if len(rows) < ROWS_PER_TURN and row.event_id not in {new.event_id for new in rows}:
        rows = sorted([row, *rows], key=lambda new: new.event_id)
    return rows


def _answer_rows(services: Services, row: InboxRow, rows: Sequence[InboxRow], budget: TurnBudget) -> None:
    match locate_session(services, row):
        case Found(session):
            if rows:
                _answer(services, session, rows, budget)
        case Vacant():
            session = start_in_chat(services, row, seed="home")
            if rows:
                _answer(services, session, rows, budget)
        case Broken(session, notice):
            # The notice goes first: a repeat after a crash finds only the new session and would not send it.
            _tell(services, row, notice, key="fresh")
            _answer(services, replace_broken(services, row, session), rows, budget)
        case Elsewhere(notice):
            _tell(services, row, notice)
            services.store.inbox.close(rows, by="told")
            release_accepted(services, row)
        case NotAddressed():
            services.store.inbox.close(rows, by="ignored")


def _command(row: InboxRow) -> tuple[str, str] | None:
    return None if row.place.is_cli else parse_command(row.text)


def _run_command(services: Services, row: InboxRow, command: str, argument: str) -> None:
    """A command is answered alone, in its turn among what else was said."""
    _tell(services, row, run_command(services, row, command, argument))
    services.store.inbox.close([row], by="command")


def _finish(services: Services, row: InboxRow) -> None:
    session_id, _, turn_id = (row.done_by or "").partition("/")
    if turn_id:
        _deliver(services, row, session_id, turn_id)


def _answer(services: Services, session: Session, rows: Sequence[InboxRow], budget: TurnBudget) -> None:
    accepted = accepted_turn(rows[0])
    refuse_live_turn(services, session, accepted=accepted)
    session = _after_its_kickoff(services, session, budget)
    if session.strikes >= services.settings.strikes:
        _give_up(services, session, rows)
        return
    held = start_turn(services, session, counts=True, accepted=accepted)
    with mark_if_broken(services, held):
        turn_id = _run_agent(services, held, rows, budget)
    log.info("session %s: answered %d message(s)", session.id, len(rows))
    _deliver(services, rows[0], session.id, turn_id)


def _after_its_kickoff(services: Services, session: Session, budget: TurnBudget) -> Session:
    """Words typed while the session was still arriving wait in the queue before its kickoff: that comes first all the same."""
    handoff = services.store.handoffs.get(session.active_handoff) if session.active_handoff else None
    if handoff is None or not handoff.is_open or handoff.confirmed or not handoff.is_bound:
        return session
    run_kickoff(services, handoff.id, budget)
    arrived = services.store.sessions.get(session.id)
    if arrived is None or arrived.owner != session.owner:
        raise Conflict(f"session {session.id} did not stay")
    return arrived


def _run_agent(services: Services, held: Session, rows: Sequence[InboxRow], budget: TurnBudget) -> str:
    """Let the agent answer and commit its words; returns the turn's id."""
    session, place = held, rows[0].place
    transcript = list(services.store.transcripts.load(session.id))
    said: list[Message] = [{"role": "user", "content": row.text, "id": f"{place.route}/{row.event_id}"} for row in rows]
    note = note_for(held, transcript, has_new_message=True)
    try:
        with heartbeat(services, held, place, budget.visibility):
            reply = services.agent().reply([*transcript, *said], note=note, deadline=budget.deadline)
    except AgentError as error:
        reply = _after_agent_error(services, held, rows[0], error, budget)
    turn_id = turn_of(rows[0])
    commit = TurnCommit(
        session=held,
        messages=[*said, {"role": "assistant", "content": reply}],
        turn_id=turn_id,
        parts=parts_for(services, session.id, turn_id, place, reply),
        rows=rows,
    )
    try:
        services.store.turns.commit(commit, now=services.clock.now())
    except Conflict:
        release(services, held, uncount=True, waiting=_promised(services, rows[0], 1.0))
        raise
    return turn_id


def _after_agent_error(services: Services, held: Session, row: InboxRow, error: AgentError, budget: TurnBudget) -> str:
    """A failure that another try may help is tried again; any other is said to the person, as this turn's reply."""
    if services.clock.now() >= budget.deadline:
        release(services, held, interrupted=Interruption.OUT_OF_TIME, waiting=_promised(services, row, 1.0))
        raise NotYet(1.0) from error
    if isinstance(error, AgentUnavailable) and budget.tries < AGENT_TRIES:
        pause = error.after or backoff(budget.tries, first=10.0, longest=60.0)
        release(services, held, uncount=True, waiting=_promised(services, row, pause))
        raise NotYet(pause) from error
    what = str(error).rstrip(".")
    hint = "" if isinstance(error, AgentFailed) else " It was tried several times."
    return f"I could not answer: {what}.{hint} Your message is kept; say something to try again."


def _promised(services: Services, row: InboxRow, pause: float) -> TurnLease | None:
    """A terminal's turn stays accepted until its next try: no handoff may come between, and its person goes on waiting."""
    if not row.place.is_cli:
        return None
    return TurnLease(accepted_turn(row), services.clock.now() + int(pause * 1000) + PROMISE_MARGIN)


def _give_up(services: Services, session: Session, rows: Sequence[InboxRow]) -> None:
    """Too many turns in a row ended badly: say so, keep the transcript, and let the next message begin afresh."""

    def give_up() -> None:
        current = services.store.sessions.get(session.id)
        if current is not None and not current.suspended:
            services.store.sessions.replace(current, suspend(current, now=services.clock.now()))

    on_conflict(give_up)
    log.info("session %s: suspended after %d strikes", session.id, services.settings.strikes)
    words = (
        f"I was interrupted {services.settings.strikes} times in a row on this session, so I have stopped trying. "
        f"Its transcript is kept; `/resume {session.id}` brings it back. Your next message starts a fresh session."
    )
    if rows[0].place.is_cli:
        _write_to_terminal(services, session.id, words)
    _tell(services, rows[0], words)
    services.store.inbox.close(rows, by="suspended")


def _write_to_terminal(services: Services, session_id: str, words: str) -> None:
    """A terminal reads the transcript: what it is to be told stands there."""

    def write() -> None:
        session = services.store.sessions.get(session_id)
        if session is not None and session.owner.is_cli:
            said = [{"role": "assistant", "content": words, "internal": True}]
            services.store.transcripts.append(session, said, now=services.clock.now())

    on_conflict(write)


def _tell(services: Services, row: InboxRow, words: str, *, key: str = "told") -> None:
    try:
        say(services, row.place, words, key=f"{key}-{row.event_id}")
    except Rejected:
        log.info("a notice at a place on %s was refused", row.place.platform)


def _deliver(services: Services, row: InboxRow, session_id: str, turn_id: str) -> None:
    """Deliver a committed reply; where the thread is gone, say in the chat that holds it that the reply is kept."""
    try:
        deliver(services, session_id, turn_id)
    except PlaceGone:
        log.info("session %s: its thread is gone; the reply is kept in the transcript", session_id)
        # A thread that is a channel of its own names no chat that holds it: then the person's home is told.
        home = row.place.home if row.place.thread else services.store.accounts.home(row.user_id, row.place.platform)
        if home not in (None, row.place):
            words = f"A thread of yours is gone; its session is kept. `/resume {session_id}` brings it here."
            _tell(services, replace(row, place=home), words, key="gone")
    except Rejected as rejected:
        log.info("session %s: a reply was refused (%s); it is kept in the transcript", session_id, rejected)
