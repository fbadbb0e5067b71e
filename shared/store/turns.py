"""Turns: each transition is one conditional write or one transaction on the session's META item.

META alone says what is alive. The offer beside it says what the turn answers, and stays until the turn is settled.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shared.domain.handoffs import Handoff, Receipt
from shared.domain.messages import Message
from shared.domain.offers import Offer, Result
from shared.domain.progress import Progress
from shared.domain.sessions import Executor, Interruption, ResumePending, Session, Turn
from shared.domain.usage import Usage
from shared.errors import Conflict
from shared.ports.conditions import (
    Condition,
    absent,
    at_most,
    both,
    differs,
    either,
    equals,
    more_than,
    present,
    unless_more_than,
)
from shared.ports.tables import SESSIONS_DUE, Check, ConditionFailed, Delete, Table, Tables, Update, Write, updated
from shared.store.budget_items import usage_value
from shared.store.due import due_items
from shared.store.inbox import InboxRow, close_row, new_row
from shared.store.keys import OFFER, handoff_key, inbox_key, meta_key, offer_key, session_partition
from shared.store.offers import (
    new_offer,
    offer_of,
    offers_of,
    progress_value,
    remove_pointer,
    result_value,
    settled_machine_turn,
)
from shared.store.outbox import OutPart, new_part
from shared.store.session_items import CLAIMED, pending_value, readable_session, session_of, turn_value
from shared.store.transcripts import chunk_puts
from shared.store.transitions import allowed, confirm_write, no_executor, unconfirmed
from shared.store.values import MAX_NUMBER, map_at
from shared.store.versions import is_newer

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TurnCommit:
    """Everything that ends one turn with a reply, in one transaction.

    `session` names the turn and its fence. `suspends`: the session is given up with this turn. `abandoned`: the writer is
    not the turn's executor, so no executor may work on it. `result` is set by a machine: its agent has seen all of it.
    `late` is a new row with answers that came too late for the agent. `usage` are the session's sums with this turn.
    `native_id` is the agent's own id of a session that has begun with this turn, `commands` are the agent's own commands.
    """

    session: Session
    messages: Sequence[Message]
    journal: str
    parts: Sequence[OutPart]
    rows: Sequence[InboxRow] = ()
    handoff: Handoff | None = None
    receipt: Receipt | None = None
    suspends: bool = False
    abandoned: bool = False
    result: Result | None = None
    late: InboxRow | None = None
    usage: Usage | None = None
    native_id: str = ""
    commands: Mapping[str, str] | None = None


class Turns:
    """One turn per session at a time. Each method but the reading ones is one conditional write or one transaction.

    offer ──> offered ──claim──> claimed(fence, lease) ──commit──> over ──settled──> removed
                 ^                   │ renew: the lease again
                 └────hand_back──────┤ lease over: may be claimed again, with a greater fence
                                     └──end, or any move of the session──> over
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def offer(
        self,
        session: Session,
        offer: Offer,
        *,
        rows: Sequence[InboxRow] = (),
        accepted: InboxRow | None = None,
        handoff: Handoff | None = None,
    ) -> Session:
        """Give a session that is as it was read, and has no turn, a turn that any executor may claim.

        It answers `rows`, which must be new (other users' only while the session is shared), or an `accepted` row, which
        is written with it, or the kickoff of an open, bound and unconfirmed `handoff`. Raises Conflict.
        """
        turn = Turn(offer.id, by=offer.executor)
        writes: list[Write] = [
            Update(
                Table.SESSIONS,
                meta_key(session.id),
                when=[
                    equals("version", session.version),
                    equals("owner", offer.place.route),
                    *([] if "turn" in session.unreadable else [absent("turn")]),
                    *([] if handoff else [absent("suspended")]),
                    *may_speak(session, *rows),
                ],
                set={**_mended(session), "turn": turn_value(turn), "updated_at": offer.offered_at},
                add={"version": 1},
            ),
            *new_offer(offer),
            *(is_new(row) for row in rows),
        ]
        if accepted is not None:
            writes.append(new_row(accepted))
        if handoff is not None:
            may_confirm = [allowed("confirm"), unconfirmed(), present("bound_epoch")]
            writes.append(Check(Table.HANDOFFS, handoff_key(handoff.id), may_confirm))
        self._transact(session, writes)
        if session.unreadable:
            log.error("session %s: %s could not be read, and is replaced", session.id, ", ".join(session.unreadable))
        return replace(
            session, turn=turn, version=session.version + 1, updated_at=offer.offered_at, unreadable=frozenset()
        )

    def get(self, session_id: str, turn_id: str) -> Offer | None:
        """The offer of a turn that is not settled yet."""
        item = self._tables.get(Table.SESSIONS, offer_key(session_id, turn_id))
        return offer_of(item) if item else None

    def unsettled(self, session_id: str) -> Sequence[Offer]:
        """Offers of a session, oldest first: of its turn, and of turns that are over and not settled.

        Read them before the session: one that the session does not name afterwards is over for good.
        """
        offers = offers_of(self._tables.query(session_partition(session_id), low=OFFER))
        return sorted(offers, key=lambda offer: (offer.offered_at, offer.id))

    def claim(
        self, session: Session, rows: Sequence[InboxRow], *, claim_id: str, now: int, lease_until: int
    ) -> Session:
        """Claim and begin the session's turn, if no executor works on it, it is as read and its `rows` are new.

        For the deployment's agent: a machine's turn is a Conflict. A repeat with the same `claim_id` succeeds again. A run
        that was killed is marked for the next one, except a kickoff's (no rows). Raises Conflict.
        """
        before = turn_of(session)
        turn = replace(
            before,
            fence=before.fence + 1,
            is_claimed=True,
            lease_until=lease_until,
            begun=before.begun + 1,
            claim_id=claim_id,
        )
        pending = session.resume_pending
        if before.is_claimed and rows:
            pending = ResumePending(Interruption.KILLED, min(before.lease_until, now))
        claim = Update(
            Table.SESSIONS,
            meta_key(session.id),
            when=[*is_at_fence(session), no_executor(now), differs("turn.by", Executor.MACHINE)],
            set={"turn": turn_value(turn), "resume_pending": pending_value(pending) if pending else None},
            add={"version": 1},
        )
        try:
            self._tables.transact([claim, *map(is_new, rows)]) if rows else self._tables.update(claim)
        except ConditionFailed as failed:
            current = failed.items[0] or {}
            answer_was_lost = map_at(current, "turn").get("claim_id") == claim_id
            if answer_was_lost:
                return session_of(current)
            raise Conflict(f"turn {turn.id} is taken or over, or a row is done") from None
        return replace(session, turn=turn, resume_pending=pending, version=session.version + 1)

    def renew(self, session: Session, *, lease_until: int) -> bool:
        """Extend the lease of the session's turn; False if that is over or has another fence."""
        return self._update(session, set={"turn.lease_until": lease_until})

    def hand_back(
        self, session: Session, *, now: int, until: int, interrupted: Interruption | None, marks: bool = True
    ) -> bool:
        """claimed → offered by its executor, which stops; it may be claimed again from `until` on.

        Without an interruption the run counts as a try only; with one, the session is marked for the next run if it
        `marks`. False if the turn is over or has another fence.
        """
        held = turn_of(session)
        turn = replace(held, fence=held.fence + 1, is_claimed=False, lease_until=until, claim_id=None)
        if interrupted is None:
            return self._update(
                session, set={"turn": turn_value(replace(turn, begun=turn.begun - 1, tries=turn.tries + 1))}
            )
        mark = {"resume_pending": pending_value(ResumePending(interrupted, now))} if marks else {}
        return self._update(session, set={"turn": turn_value(turn), **mark})

    def report(self, offer: Offer, progress: Progress) -> bool:
        """Store the progress of a turn at work; False if a newer one is stored, or the turn is settled."""
        older = either(
            absent("progress"),
            at_most("progress.fence", progress.fence - 1),
            both(equals("progress.fence", progress.fence), at_most("progress.seq", progress.seq - 1)),
        )
        key = offer_key(offer.session_id, offer.id)
        when = [present("pk"), older, absent("settled")]
        return updated(self._tables, Update(Table.SESSIONS, key, when=when, set={"progress": progress_value(progress)}))

    def commit(self, commit: TurnCommit, *, now: int) -> Session:
        """Write messages, done rows, outbox and (for a kickoff) `confirmed` in one transaction; the turn is over.

        Raises Conflict if the turn is over or has another fence, a row is done, the transcript changed, a question that
        does not block was answered, or, for a commit with usage, a stopped turn was counted since the session was read.
        """
        session = commit.session
        count = session.message_count + len(commit.messages)
        mine = [no_executor(now)] if commit.abandoned else [equals("turn.state", CLAIMED)]
        meta = Update(
            Table.SESSIONS,
            meta_key(session.id),
            when=[
                *is_at_fence(session),
                *mine,
                equals("message_count", session.message_count),
                unless_more_than("answered", session.answered),
                *([equals("runs_on.native_id", "")] if commit.native_id else []),
                *([usage_as_read(session)] if commit.usage else []),
            ],
            set={
                "message_count": count,
                "suspended": commit.suspends or None,
                "updated_at": now,
                "turn": None,
                "resume_pending": None,
                **({"native_seen": count, "native_dirty": None} if commit.result else {}),
                **({"usage": usage_value(commit.usage)} if commit.usage else {}),
                **({"runs_on.native_id": commit.native_id} if commit.native_id else {}),
                **({"commands": dict(commit.commands)} if commit.commands is not None else {}),
            },
            add={"version": 1},
        )
        writes: list[Write] = [
            meta,
            *chunk_puts(session.id, session.message_count, commit.messages),
            *(close_row(row, f"{session.id}/{commit.journal}") for row in commit.rows),
            *(new_part(part, now) for part in commit.parts),
            *([new_row(commit.late)] if commit.late else []),
        ]
        if commit.handoff is not None:
            writes.append(confirm_write(commit.handoff, commit.receipt, now=now))
        if commit.result is not None:
            offer = offer_key(session.id, turn_of(session).id)
            writes.append(
                Update(Table.SESSIONS, offer, when=[present("pk")], set={"result": result_value(commit.result)})
            )
        self._transact(session, writes)
        return replace(
            session,
            message_count=count,
            version=session.version + 1,
            updated_at=now,
            turn=None,
            resume_pending=None,
            suspended=commit.suspends,
            native_seen=count if commit.result else session.native_seen,
            native_dirty=session.native_dirty and commit.result is None,
            usage=commit.usage or session.usage,
        )

    def end(self, session: Session, *, now: int) -> bool:
        """End the session's turn without a reply, whoever works on it; False if it is over already."""
        ended = Update(
            Table.SESSIONS,
            meta_key(session.id),
            when=[equals("turn.id", turn_of(session).id)],
            set={"turn": None, "updated_at": now},
            add={"version": 1},
        )
        return updated(self._tables, ended)

    def without_unreadable(self, session: Session, *, now: int) -> Session | None:
        """End the session's turn if its offer is gone or cannot be read, its rows stay new; returns the session."""
        key = offer_key(session.id, turn_of(session).id)
        item = self._tables.get(Table.SESSIONS, key)
        if item is not None and (is_newer(item) or offer_of(item) is not None):
            return session
        self._tables.delete(Delete(Table.SESSIONS, key))
        self.end(session, now=now)
        meta = self._tables.get(Table.SESSIONS, meta_key(session.id))
        return readable_session(meta) if meta else None

    def settled(self, offer: Offer) -> None:
        """Remove the offer of a turn that is over and delivered; a machine's is kept for a while. Safe to repeat."""
        if offer.runs_on is None:
            self._tables.delete(Delete(Table.SESSIONS, offer_key(offer.session_id, offer.id)))
            return
        remove_pointer(self._tables, offer)
        updated(self._tables, settled_machine_turn(offer))

    def due(self, *, now: int, limit: int) -> Sequence[Offer]:
        """Offers for the sweep, the earliest first. The list may lag by moments."""
        return offers_of(due_items(self._tables, SESSIONS_DUE, now=now, limit=limit))

    def postpone(self, offer: Offer, *, until: int, nudged_fence: int | None = None) -> bool:
        """Let the sweep look at an offer again at `until`. With a fence, count a nudge: one of several sweeps succeeds."""
        when: list[Condition] = [present("pk")]
        changes: dict[str, Any] = {"due_at": until}
        if nudged_fence is not None:
            when += _nudged_as_read(offer)
            changes |= {"nudges": offer.nudges_at(nudged_fence) + 1, "nudged_fence": nudged_fence}
        return updated(
            self._tables, Update(Table.SESSIONS, offer_key(offer.session_id, offer.id), when=when, set=changes)
        )

    def _update(self, session: Session, *, set: dict[str, Any]) -> bool:  # noqa: A002  # named as in Update
        when = [*is_at_fence(session), equals("turn.state", CLAIMED)]
        return updated(
            self._tables, Update(Table.SESSIONS, meta_key(session.id), when=when, set=set, add={"version": 1})
        )

    def _transact(self, session: Session, writes: Sequence[Write]) -> None:
        try:
            self._tables.transact(writes)
        except ConditionFailed:
            raise Conflict(f"session {session.id} changed since it was read") from None


def _mended(session: Session) -> dict[str, Any]:
    """What an offer writes in the place of what could not be read."""
    counted = {"questions": session.questions} if "questions" in session.unreadable else {}
    return {**dict.fromkeys(session.unreadable), **counted}


def turn_of(session: Session) -> Turn:
    """The session's turn. Raises ValueError where there is none."""
    if session.turn is None:
        raise ValueError(f"session {session.id} has no turn")
    return session.turn


def is_at_fence(session: Session) -> list[Condition]:
    """The session has not moved, and its turn is the one that was read, at the same fence."""
    turn = turn_of(session)
    unmoved = [equals("epoch", session.epoch), equals("owner", session.owner.route)]
    return [*unmoved, equals("turn.id", turn.id), equals("turn.fence", turn.fence)]


def may_speak(session: Session, *rows: InboxRow) -> list[Condition]:
    """Rows of other users than the session's are accepted only while it is shared."""
    is_guests = any(row.user_id != session.user_id for row in rows)
    return [equals("shared", value=True)] if is_guests else []


def usage_as_read(session: Session) -> Condition:
    """No tokens were counted since: they only grow. A number that cannot be read was read as none."""
    return either(unless_more_than("usage.tokens", session.usage.tokens), more_than("usage.tokens", MAX_NUMBER))


def _nudged_as_read(offer: Offer) -> list[Condition]:
    """No other sweep was here. The count starts again at a new fence, so it may be the same; then the fence differs."""
    if not offer.nudges:
        return [absent("nudges")]
    return [equals("nudges", offer.nudges), equals("nudged_fence", offer.nudged_fence)]


def is_new(row: InboxRow) -> Check:
    """The row is as it came in: no turn has answered it, and it was not closed."""
    return Check(Table.SESSIONS, inbox_key(row.place, row.event_id), [equals("status", "new")])
