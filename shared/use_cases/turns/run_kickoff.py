"""The kickoff turn: the agent reads the whole transcript and confirms in the new thread."""

import logging
from collections.abc import Sequence

from shared.domain.handoffs import Handoff, Reason, Receipt, State
from shared.domain.interruptions import note_for
from shared.domain.messages import Message, count_by_role, digest, fitting_reply
from shared.domain.sessions import Session
from shared.errors import AgentError, AgentUnavailable, Conflict, NewerVersion, NotYet, Rejected
from shared.ports.turns import TurnCommit
from shared.services import Services
from shared.use_cases.handoffs.take_over import take_over
from shared.use_cases.retry import on_conflict
from shared.use_cases.turns.budget import TurnBudget
from shared.use_cases.turns.deliver import deliver, parts_for, platform_of
from shared.use_cases.turns.hold_turn import heartbeat, release, start_turn

log = logging.getLogger(__name__)
AGENT_TRIES = 3
AGENT_PAUSE = 5.0


def run_kickoff(services: Services, handoff_id: str, budget: TurnBudget) -> None:
    """Run the kickoff of a handoff, or finish one that was committed before. Safe to run twice.

    A failure fails the handoff and moves the session back; it counts no strike. Raises NotYet to be run again later,
    Conflict to be run again at once.
    """
    handoff = services.store.handoffs.get(handoff_id)
    if handoff is None or not handoff.is_open:
        return
    if handoff.is_newer:
        raise NewerVersion(f"handoff {handoff.id}")
    if not handoff.is_bound:
        _wake_when_due(services, handoff)
        return
    if not handoff.confirmed and not _confirm(services, handoff, budget):
        return
    finish(services, handoff)


def _wake_when_due(services: Services, handoff: Handoff) -> None:
    """Check a handoff whose session has not moved yet: it waits for a rate limit, or its process has died.

    A due one is put on the stream again, one with an expired lease is taken over. Raises NotYet before that.
    """
    now = services.clock.now()
    due = handoff.not_before if handoff.state is State.PENDING else handoff.lease_until
    if due > now:
        raise NotYet((due - now) / 1000)
    if handoff.state is State.PENDING:
        services.store.handoffs.nudge(handoff, now=now)
    else:
        take_over(services, handoff)


def finish(services: Services, handoff: Handoff) -> None:
    """Deliver a committed confirmation, then complete the handoff; it fails only if the platform rejects the delivery."""
    now = services.clock.now()
    try:
        deliver(services, handoff.session_id, handoff.kickoff_turn)
    except Rejected as rejected:
        reason = Reason("delivery_rejected", f"The confirmation could not be posted: {rejected}.")
        on_conflict(lambda: services.store.handoffs.fail(handoff, reason, now=now, rejected_delivery=True))
        log.info("handoff %s: failed (%s)", handoff.id, reason.code)
        return
    except NotYet as later:
        # This message is the one retry that is pending: the sweep sends another only if this one is lost.
        services.store.handoffs.postpone(handoff, until=services.clock.now() + int(later.after * 1000))
        raise
    completed = on_conflict(lambda: services.store.handoffs.complete(handoff, now=services.clock.now()))
    log.info("handoff %s: %s", handoff.id, "completed" if completed else "ended elsewhere")


def _confirm(services: Services, handoff: Handoff, budget: TurnBudget) -> bool:
    """Let the agent answer the kickoff and commit its reply; False if the handoff has ended or failed instead."""
    session = services.store.sessions.get(handoff.session_id)
    if session is None or handoff.thread is None or session.owner != handoff.thread.place:
        return False
    try:
        platform_of(services, session.owner)  # before the agent is asked for a reply that could not be delivered
    except Rejected as rejected:
        _fail(services, handoff, Reason("platform_not_configured", f"{rejected}. The session is where it was before."))
        return False
    session = start_turn(services, session, counts=False)
    transcript = list(services.store.transcripts.load(session.id))
    kickoff = kickoff_message(session, handoff)
    deadline = min(budget.deadline, handoff.deadline)
    try:
        with heartbeat(services, session, session.owner, budget.visibility):
            note = note_for(session, transcript, has_new_message=False)
            reply = fitting_reply(services.agent().reply([*transcript, kickoff], note=note, deadline=deadline))
        _commit(services, handoff, session, transcript, said=(kickoff, reply))
    except AgentError as error:
        release(services, session, failed_turn=handoff.kickoff_turn)
        may_retry = session.tries_of(handoff.kickoff_turn) + 1 < AGENT_TRIES and services.clock.now() < deadline
        if isinstance(error, AgentUnavailable) and may_retry:
            raise NotYet(error.after or AGENT_PAUSE) from error
        _fail(services, handoff, Reason("agent_failed", str(error)))
        return False
    except Conflict:
        release(services, session)
        raise
    return True


def _commit(
    services: Services,
    handoff: Handoff,
    session: Session,
    transcript: Sequence[Message],
    *,
    said: tuple[Message, str],
) -> None:
    kickoff, reply = said
    text = reply if not handoff.notice else f"{reply}\n\n_{handoff.notice}_"
    receipt = Receipt(count_by_role(transcript), digest(transcript), len(transcript))
    services.store.turns.commit(
        TurnCommit(
            session=session,
            messages=[kickoff, {"role": "assistant", "content": reply}],
            turn_id=handoff.kickoff_turn,
            parts=parts_for(services, session.id, handoff.kickoff_turn, session.owner, text),
            handoff=handoff,
            receipt=receipt,
        ),
        now=services.clock.now(),
    )
    log.info("handoff %s: agent confirmed (%d messages)", handoff.id, len(transcript))


def kickoff_message(session: Session, handoff: Handoff) -> Message:
    """The kickoff prompt, marked internal so that clients do not show it."""
    prompt = (
        f"This session ({session.shown_title}) was just handed off from the terminal to this "
        f"{handoff.platform} chat. The whole conversation so far is above. Confirm briefly that you are here, and "
        "summarise in a few sentences where things stand."
    )
    if handoff.message:
        prompt += f"\n\n{handoff.message}"
    return {"role": "user", "content": prompt, "internal": True, "id": handoff.kickoff_turn}


def _fail(services: Services, handoff: Handoff, reason: Reason) -> None:
    on_conflict(lambda: services.store.handoffs.fail(handoff, reason, now=services.clock.now()))
    log.info("handoff %s: failed (%s)", handoff.id, reason.code)
