"""The executor of this deployment: claim a turn, ask the agent, commit its reply, wake the place."""

import logging
from collections.abc import Sequence
from functools import partial

from shared.backoff import backoff
from shared.domain.handoffs import Handoff, Reason, Receipt
from shared.domain.interruptions import note_for
from shared.domain.messages import Message, count_by_role, digest, fitting_reply
from shared.domain.sessions import Executor, Interruption, Session
from shared.domain.speakers import GUEST_NOTE
from shared.errors import AgentCancelled, AgentError, AgentFailed, AgentUnavailable, Conflict, NewerVersion
from shared.ports.agents import TurnInput
from shared.ports.queue import Run
from shared.services import Services
from shared.store.turns import TurnCommit
from shared.use_cases.deliver import parts_for
from shared.use_cases.files.read_file import bytes_for_agent
from shared.use_cases.offers import wake_place
from shared.use_cases.recovery.give_up import end_turn, fail_kickoff
from shared.use_cases.retry import on_conflict
from shared.use_cases.row_messages import messages_of
from shared.use_cases.service_models import service_model
from shared.use_cases.turns.claim_turn import Claimed, claim_turn
from shared.use_cases.turns.heartbeat import heartbeat
from shared.use_cases.turns.live_progress import LiveProgress

log = logging.getLogger(__name__)
RESERVE = 60_000
"""Milliseconds kept for the commit once the agent must have answered."""
AGENT_TRIES = 5
KICKOFF_TRIES = 3
FIRST_PAUSE = 10.0
LONGEST_PAUSE = 60.0
SHARED_AT_KICKOFF = (
    "This thread is shared: other people in it that this service knows may talk to the agent. "
    "Send /share off to end it."
)
READY = (
    "A new session begins here, from a chat. Do nothing yet: answer in one short sentence that you are ready, and wait "
    "for my first message."
)
AWAY_AT_KICKOFF = (
    "Your own machine was away, so the model of this service confirmed this. Your next messages wait for your machine; "
    "send /cloud to let the model answer them."
)


def execute_turn(services: Services, run: Run, *, remaining: int) -> None:
    """Run the turn that `run` names, in a process that has `remaining` milliseconds left. Safe to run twice.

    Raises unexpected errors only; the turn is offered again before.
    """
    claimed = claim_turn(services, run)
    if claimed is None:
        return
    deadline = services.clock.now() + max(remaining - RESERVE, remaining // 2)
    if claimed.handoff is not None:
        deadline = min(deadline, claimed.handoff.deadline)
    try:
        _run(services, claimed, deadline)
    except NewerVersion as newer:
        _hand_back(services, claimed, None, pause=newer.after)
    except Exception:
        _hand_back(services, claimed, Interruption.REDELIVERED)
        raise


def _run(services: Services, claimed: Claimed, deadline: int) -> None:
    session, handoff = claimed.session, claimed.handoff
    transcript = list(services.store.transcripts.load(session.id))
    asked = [kickoff_message(session, handoff)] if handoff else messages_of(session, claimed.rows)
    note = note_for(session, transcript, has_new_message=handoff is None)
    if any(row.user_id != session.user_id for row in claimed.rows):
        note = f"{note}\n\n{GUEST_NOTE}" if note else GUEST_NOTE
    live = LiveProgress.of(services, session, claimed.offer)
    try:
        with heartbeat(services, session, claimed.offer.place, live) as cancellation:
            progress = live.update if live else None
            read_file = partial(bytes_for_agent, services, session)
            given = TurnInput(
                [*transcript, *asked],
                deadline,
                cancellation,
                note=note,
                progress=progress,
                model=service_model(services.settings, session) or None,
                read_file=read_file,
            )
            reply = fitting_reply(services.agent().reply(given))
    except AgentCancelled:
        log.info("session %s: its turn was stopped while the agent worked", session.id)
        return
    except AgentError as error:
        failure = _after_agent_error(services, claimed, error, deadline)
        if failure is None:
            return
        reply = failure
    if live is not None:
        live.finish()
    _commit(services, claimed, transcript, asked, reply)


def _after_agent_error(services: Services, claimed: Claimed, error: AgentError, deadline: int) -> str | None:
    """The reply that tells the user; None if the turn is offered again, or was a kickoff and its handoff has failed."""
    handoff, turn = claimed.handoff, claimed.session.turn
    now, tries = services.clock.now(), (turn.tries if turn else 0) + 1
    if now >= deadline and handoff is None:
        _hand_back(services, claimed, Interruption.OUT_OF_TIME)
        return None
    if isinstance(error, AgentUnavailable) and tries < (KICKOFF_TRIES if handoff else AGENT_TRIES):
        pause = error.after or backoff(tries, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
        if handoff is None or now + pause * 1000 < handoff.deadline:
            _hand_back(services, claimed, None, pause=pause)
            return None
    if handoff is not None:
        _fail(services, claimed, handoff, Reason("agent_failed", str(error)))
        return None
    tried = "" if isinstance(error, AgentFailed) else " I tried several times."
    return f"I could not answer: {str(error).rstrip('.')}.{tried} Your message is saved. Send another one to try again."


def _fail(services: Services, claimed: Claimed, handoff: Handoff, reason: Reason) -> None:
    """Fail the handoff of a kickoff; another executor may have taken it over since, and then decides."""
    try:
        on_conflict(lambda: fail_kickoff(services, claimed.session, handoff, reason, abandoned=False))
    except Conflict:
        _after_conflict(services, claimed)


def _hand_back(services: Services, claimed: Claimed, interrupted: Interruption | None, *, pause: float = 0.0) -> None:
    """Offer the turn again, and send it to the executors after a pause. A kickoff leaves no mark on its session."""
    session, now = claimed.session, services.clock.now()
    until, marks = now + int(pause * 1000), claimed.handoff is None
    if services.store.turns.hand_back(session, now=now, until=until, interrupted=interrupted, marks=marks):
        services.runs.send(Run(session.id, claimed.offer.id), delay=pause)


def _commit(
    services: Services, claimed: Claimed, transcript: Sequence[Message], asked: Sequence[Message], reply: str
) -> None:
    session, offer, handoff = claimed.session, claimed.offer, claimed.handoff
    away = AWAY_AT_KICKOFF if _is_stand_in(session) else None
    shown = with_notices(reply, *notices_of(handoff), away) if handoff else reply
    commit = TurnCommit(
        session=session,
        messages=[*asked, {"role": "assistant", "content": reply}],
        journal=offer.journal,
        parts=parts_for(services, session.id, offer.journal, offer.place, shown),
        rows=claimed.rows,
        handoff=handoff,
        receipt=Receipt(count_by_role(transcript), digest(transcript), len(transcript)) if handoff else None,
    )
    try:
        services.store.turns.commit(commit, now=services.clock.now())
    except Conflict:
        _after_conflict(services, claimed)
        return
    if handoff is not None:
        log.info("handoff %s: agent confirmed (%d messages)", handoff.id, len(transcript))
    else:
        log.info("session %s: answered %d message(s)", session.id, len(asked))
    wake_place(services, offer.place, session.id, why=f"end {offer.id}")


def _is_stand_in(session: Session) -> bool:
    """Whether the deployment's agent confirms a handoff that the user's own machine was to confirm."""
    return session.answers is Executor.MACHINE


def notices_of(handoff: Handoff) -> tuple[str | None, str | None]:
    """The service's own lines in the confirmation of a handoff."""
    return handoff.notice, SHARED_AT_KICKOFF if handoff.share else None


def with_notices(reply: str, *notices: str | None) -> str:
    """A reply as it is shown, with what the service adds to it."""
    return "\n\n".join([reply, *(f"_{notice}_" for notice in notices if notice)])


def _after_conflict(services: Services, claimed: Claimed) -> None:
    """A reply that could not be committed is dropped: its turn is over, or its rows are closed, or it is asked again."""
    current = services.store.sessions.get(claimed.session.id)
    mine = claimed.session.turn
    if current is None or mine is None or current.turn is None:
        return
    if (current.turn.id, current.turn.fence) != (mine.id, mine.fence):
        return
    rows = [services.store.inbox.get(row.place, row.event_id) for row in claimed.rows]
    if any(row is None or row.done_by is not None for row in rows):
        end_turn(services, current, claimed.offer)
    else:
        _hand_back(services, claimed, Interruption.REDELIVERED)


def kickoff_message(session: Session, handoff: Handoff) -> Message:
    """The kickoff prompt, marked internal so that clients do not show it; of a session that begins, its first words."""
    if handoff.begins and handoff.message:
        return {"role": "user", "content": handoff.message, "id": handoff.kickoff_turn}
    if handoff.begins:
        return {"role": "user", "content": READY, "internal": True, "id": handoff.kickoff_turn}
    origin = "the terminal" if handoff.origin.is_cli else f"a {handoff.origin.platform} chat"
    prompt = (
        f"This session ({session.shown_title}) was just handed off from {origin} to this "
        f"{handoff.platform} chat. The whole conversation so far is above. Confirm briefly that you are here, and "
        "summarise in a few sentences where things stand."
    )
    if handoff.message:
        prompt += f"\n\n{handoff.message}"
    return {"role": "user", "content": prompt, "internal": True, "id": handoff.kickoff_turn}
