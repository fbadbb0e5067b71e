"""Take in the result of a turn that ran on a machine: commit it once, wake the place."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from shared.domain.handoffs import Handoff, Reason, Receipt
from shared.domain.messages import Message, count_by_role, digest, fitting_reply
from shared.domain.offers import Offer, Result
from shared.domain.progress import Summary
from shared.domain.questions import QuestionState
from shared.domain.sessions import Session
from shared.domain.usage import TurnUsage, day_of
from shared.errors import InvalidRequest, OtherResult, TurnEnded
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.store.turns import TurnCommit
from shared.use_cases.deliver import parts_for
from shared.use_cases.offers import wake_place
from shared.use_cases.questions.decide import late_row
from shared.use_cases.recovery.give_up import end_turn, fail_kickoff
from shared.use_cases.retry import on_conflict
from shared.use_cases.row_messages import messages_of
from shared.use_cases.runners.live_turn import TurnName, live_turn, offered_turn
from shared.use_cases.turns.execute_turn import kickoff_message, notices_of, with_notices

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MachineResult:
    """The agent's messages in the turn, its reply last. `given` are the ids of the messages that have reached it.

    `answered` are the numbers of the questions that do not block and whose answers have reached it. `native_id` is the
    agent's own id of the session, `commands` are those that the agent has itself, if it told them.
    """

    digest: str
    messages: Sequence[Message]
    reply: str
    given: Sequence[str]
    is_failure: bool = False
    summary: Summary | None = None
    answered: Sequence[int] = ()
    usage: TurnUsage | None = None
    native_id: str = ""
    commands: Mapping[str, str] | None = None


def take_result(services: Services, name: TurnName, result: MachineResult) -> None:
    """Commit the result. A repeat succeeds again; rows that were not given stay new, for the next turn.

    Raises OtherResult if this fence has committed something else, TurnEnded, TurnSuperseded, UnknownTurn, InvalidRequest.
    """
    on_conflict(lambda: _take(services, name, result))


def _take(services: Services, name: TurnName, result: MachineResult) -> None:
    _, offer = offered_turn(services, name)
    if offer.result is not None and offer.result.fence == name.fence:
        if offer.result.digest != result.digest:
            raise OtherResult(offer.id)
        wake_place(services, offer.place, offer.session_id, why=f"end {offer.id}")
        return
    session, offer = live_turn(services, name)
    handoff = services.store.handoffs.get(offer.handoff_id) if offer.handoff_id else None
    rows = _given_rows(services, session, offer, result)
    if offer.handoff_id and (handoff is None or not handoff.is_open or handoff.confirmed):
        end_turn(services, session, offer)
        raise TurnEnded(offer.id)
    if handoff is not None and result.is_failure:
        fail_kickoff(services, session, handoff, Reason("agent_failed", result.reply), abandoned=False)
        return
    _commit(services, session, offer, result, rows=rows, handoff=handoff)
    log.info("session %s: its machine answered %d message(s)", session.id, len(rows))
    wake_place(services, offer.place, session.id, why=f"end {offer.id}")


def _given_rows(services: Services, session: Session, offer: Offer, result: MachineResult) -> list[InboxRow]:
    """The rows that the agent was given. If one of them was closed since, the turn is stopped: raises TurnEnded.

    Raises InvalidRequest if it was given none: their turn would be offered again and again.
    """
    given = [event_id for event_id in offer.rows if event_id in set(result.given)]
    if offer.rows and not given:
        raise InvalidRequest("A result names the words that the agent was given, also where it failed.")
    found = [services.store.inbox.get(offer.place, event_id) for event_id in given]
    rows = [row for row in found if row is not None and row.done_by is None]
    if len(rows) < len(given):
        end_turn(services, session, offer)
        raise TurnEnded(offer.id)
    return rows


def _commit(
    services: Services,
    session: Session,
    offer: Offer,
    result: MachineResult,
    *,
    rows: Sequence[InboxRow],
    handoff: Handoff | None,
) -> None:
    reply = fitting_reply(result.reply)
    asked = [kickoff_message(session, handoff)] if handoff else messages_of(session, rows)
    shown = with_notices(reply, *notices_of(handoff)) if handoff else reply
    receipt = None
    if handoff is not None:
        transcript = list(services.store.transcripts.load(session.id))
        receipt = Receipt(count_by_role(transcript), digest(transcript), len(transcript))
    fence = session.turn.fence if session.turn else 0
    commit = TurnCommit(
        session=session,
        messages=[*asked, *result.messages[:-1], {**result.messages[-1], "content": reply}],
        journal=offer.journal,
        parts=parts_for(services, session.id, offer.journal, offer.place, shown),
        rows=rows,
        handoff=handoff,
        receipt=receipt,
        result=Result(fence, result.digest, _summary(session, result)),
        native_id=result.native_id if session.runs_on and not session.runs_on.native_id else "",
        commands=None if result.commands == session.commands else result.commands,
        usage=session.usage.after(result.usage, day_of(services.clock.now())) if result.usage else None,
        late=_late(services, session, offer, result),
    )
    services.store.turns.commit(commit, now=services.clock.now())


def _summary(session: Session, result: MachineResult) -> Summary | None:
    """The work of the turn, with what it has spent."""
    if result.usage is None:
        return result.summary
    known = session.usage.cost is not None  # the first sum is that of all turns before
    cost = session.usage.added_cost(result.usage) if known else 0
    return replace(result.summary or Summary(), tokens=result.usage.tokens, cost=cost)


def _late(services: Services, session: Session, offer: Offer, result: MachineResult) -> InboxRow | None:
    """Answers that have not reached the agent, as one message for its next turn; None if there are none."""
    if not session.answered or session.turn is None:
        return None
    asked = services.store.questions.of(session.id, offer.id, fence=session.turn.fence)
    missed = [
        one
        for one in asked
        if not one.blocks
        and one.state is QuestionState.ANSWERED
        and one.row is None
        and one.number not in result.answered
    ]
    return late_row(services, session, offer.place, missed, key=offer.id) if missed else None
