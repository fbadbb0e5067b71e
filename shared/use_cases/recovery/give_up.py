"""End a turn that could not be run: the reply says so, or the handoff fails."""

import logging
from collections.abc import Sequence

from shared.domain.handoffs import Handoff, Reason
from shared.domain.messages import Message
from shared.domain.offers import Offer
from shared.domain.sessions import Session
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.store.turns import TurnCommit
from shared.use_cases.deliver import parts_for
from shared.use_cases.handoffs.tell_origin import tell_origin
from shared.use_cases.offers import wake_place
from shared.use_cases.row_messages import messages_of

log = logging.getLogger(__name__)
NOT_STARTED = (
    "I could not answer: the agent did not start, although I tried several times. Send your message again later."
)


def suspend(services: Services, session: Session, offer: Offer, rows: Sequence[InboxRow]) -> None:
    """Give the session up after too many interrupted runs, and tell the user; the next message starts a new session.

    The messages that could not be answered stay in the transcript. Raises Conflict.
    """
    strikes = services.settings.strikes
    notice = (
        f"I was interrupted {strikes} times in a row in this session, so I stopped trying. "
        f"The transcript is saved: send `/resume {session.id}` to bring the session back. "
        "Your next message starts a new session."
    )
    _answer_with(services, session, offer, rows, notice, suspends=True)
    log.info("session %s: suspended after %d strikes", session.id, strikes)


def tell_not_started(services: Services, session: Session, offer: Offer, rows: Sequence[InboxRow]) -> None:
    """Tell the user that no executor has taken the turn. The session goes on with the next message. Raises Conflict."""
    _answer_with(services, session, offer, rows, NOT_STARTED, suspends=False)
    log.warning("session %s: no executor has taken its turn, so it is given up", session.id)


def tell_interrupted(services: Services, session: Session, offer: Offer, rows: Sequence[InboxRow], times: int) -> None:
    """Tell the user that the agent was interrupted too often with these messages. The session goes on. Raises Conflict."""
    whose = "Your" if offer.runs_on else "The"
    notice = (
        f"{whose} agent was interrupted {times} times while it worked on this, so I stopped trying. "
        "Say it again to retry."
    )
    _answer_with(services, session, offer, rows, notice, suspends=False)
    log.warning("session %s: its %s was interrupted %d times", session.id, offer.executor.value, times)


def fail_kickoff(
    services: Services, session: Session, handoff: Handoff, reason: Reason, *, abandoned: bool = True
) -> None:
    """Fail a handoff whose kickoff cannot be run; its session moves back, so its turn is over. The thread is woken.

    `abandoned`: no executor holds the turn; otherwise the caller does. Raises Conflict if that is no longer so.
    """
    now = services.clock.now()
    failed = services.store.handoffs.fail_kickoff(handoff, reason, session=session, now=now, abandoned=abandoned)
    log.info("handoff %s: %s", handoff.id, f"failed ({reason.code})" if failed else "ended elsewhere")
    if handoff.thread is not None:
        wake_place(services, handoff.thread.place, handoff.session_id, why=f"failed {handoff.id}")
    tell_origin(services, handoff)


def end_turn(services: Services, session: Session, offer: Offer) -> None:
    """End the session's turn without a reply, and wake its place."""
    if services.store.turns.end(session, now=services.clock.now()):
        wake_place(services, offer.place, session.id, why=f"end {offer.id}")


def _answer_with(
    services: Services, session: Session, offer: Offer, rows: Sequence[InboxRow], notice: str, *, suspends: bool
) -> None:
    # Terminals only poll the transcript, so the notice is appended to it.
    notices: list[Message] = [{"role": "assistant", "content": notice}] if offer.place.is_cli else []
    commit = TurnCommit(
        session=session,
        messages=[*messages_of(session, rows), *notices],
        journal=offer.journal,
        parts=parts_for(services, session.id, offer.journal, offer.place, notice),
        rows=rows,
        suspends=suspends,
        abandoned=True,
    )
    services.store.turns.commit(commit, now=services.clock.now())
    wake_place(services, offer.place, session.id, why=f"given up {offer.id}")
