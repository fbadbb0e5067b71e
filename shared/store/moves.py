"""Moves of a session: into a handoff's thread, to a chat, back to its terminal."""

from collections.abc import Sequence
from dataclasses import replace

from shared.domain.handoffs import Handoff, Step
from shared.domain.offers import Offer
from shared.domain.routes import Place
from shared.domain.sessions import Session, Turn
from shared.errors import Conflict, Moved, UnknownSession
from shared.ports.conditions import equals
from shared.ports.tables import ConditionFailed, Table, Tables, Update, Write
from shared.store.keys import handoff_key, meta_key
from shared.store.offers import new_offer
from shared.store.session_items import session_of, turn_value
from shared.store.tenants import RETURNED, end_handoff, move_in
from shared.store.transitions import allowed, fence_is_mine, not_bound


class Moves:
    """Moves of a session; each is one transaction that sets route and owner and adds 1 to the epoch.

    A session arrives unshared, except in the thread of a handoff with `share`.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def rebind(self, handoff: Handoff, kickoff: Offer, *, now: int, machine_is_away: bool = False) -> Handoff | None:
        """Move the session into the handoff's thread and offer its kickoff turn; a turn that it had is over.

        `machine_is_away`: the deployment's agent confirms in the place of the user's own, and the session notes it.
        None if the handoff's fence or state changed. Raises Moved if the session moved since the request, PlaceBusy if
        another session lives in the thread: another user's, or the same user's and the handoff does not say `replace`.
        Raises Conflict if the place changed.
        """
        if handoff.thread is None:
            raise ValueError("the handoff has no thread to move its session to")
        place, link = handoff.thread.place, handoff.thread.url
        epoch = handoff.request_epoch + 1
        arrival = move_in(
            self._tables,
            place,
            link,
            session_id=handoff.session_id,
            user_id=handoff.user_id,
            may_replace=handoff.replace,
            now=now,
        )
        bind = Update(
            Table.HANDOFFS,
            handoff_key(handoff.id),
            when=[allowed("rebind"), fence_is_mine(handoff), not_bound(), equals("thread.route", place.route)],
            set={
                "bound_epoch": epoch,
                f"steps.{Step.MOVED}": now,
                f"steps.{Step.KICKOFF_SENT}": now,
                "updated_at": now,
                # From here on the turn carries the work, and the sweep looks after its offer.
                "lease_until": handoff.deadline,
                "due_at": handoff.deadline,
            },
        )
        move = Update(
            Table.SESSIONS,
            meta_key(handoff.session_id),
            when=[equals("epoch", handoff.request_epoch), equals("active_handoff", handoff.id)],
            set={
                "owner": place.route,
                "epoch": epoch,
                "link": link,
                "updated_at": now,
                "turn": turn_value(Turn(kickoff.id, by=kickoff.executor)),
                # Else the sweep would take the kickoff back for the machine.
                "cloud_kickoff": machine_is_away or None,
                "shared": handoff.share or None,
            },
            add={"version": 1},
        )
        try:
            self._tables.transact([bind, move, *new_offer(kickoff), *arrival])
        except ConditionFailed as failed:
            _explain_rebind(handoff, failed)
            return None
        # Not read back: a successor's newer fence must not reach this claimant.
        steps = {**handoff.steps, Step.MOVED.value: now, Step.KICKOFF_SENT.value: now}
        return replace(handoff, bound_epoch=epoch, steps=steps, lease_until=handoff.deadline, updated_at=now)

    def to_terminal(self, session: Session, *, now: int) -> Session:
        """Move the session back to its terminal; a handoff in flight ends as cancelled in the same transaction.

        Raises Conflict if the session changed since it was read.
        """
        move = Update(
            Table.SESSIONS,
            meta_key(session.id),
            when=[equals("version", session.version)],
            set={"owner": session.cli.route, "updated_at": now, **RETURNED},
            add={"version": 1, "epoch": 1},
        )
        self._move(session, [move, *end_handoff(self._tables, session.active_handoff, now)])
        return _arrived(session, session.cli, None, now)

    def to_chat(self, session: Session, place: Place, link: str, *, now: int) -> Session:
        """Move the session to a chat; the user's own session there returns to its terminal.

        A handoff in flight ends as cancelled. Raises PlaceBusy if another user's session lives there, Conflict if the
        session or the place changed since they were read.
        """
        arrival = move_in(
            self._tables, place, link, session_id=session.id, user_id=session.user_id, may_replace=True, now=now
        )
        move = Update(
            Table.SESSIONS,
            meta_key(session.id),
            when=[equals("version", session.version)],
            set={
                "owner": place.route,
                "link": link,
                "updated_at": now,
                **dict.fromkeys(("active_handoff", "turn", "suspended", "resume_pending", "shared")),
            },
            add={"version": 1, "epoch": 1},
        )
        self._move(session, [move, *arrival, *end_handoff(self._tables, session.active_handoff, now)])
        arrived = _arrived(session, place, link, now)
        return replace(arrived, suspended=False, resume_pending=None)

    def _move(self, session: Session, writes: Sequence[Write]) -> None:
        try:
            self._tables.transact(writes)
        except ConditionFailed:
            raise Conflict(f"session {session.id} or its new place changed since it was read") from None


def _arrived(session: Session, place: Place, link: str | None, now: int) -> Session:
    """The session after a move that ended its turn and its handoff: exact, because its version was as read."""
    return replace(
        session,
        owner=place,
        link=link,
        epoch=session.epoch + 1,
        version=session.version + 1,
        updated_at=now,
        active_handoff=None,
        turn=None,
        shared=False,
    )


def _explain_rebind(handoff: Handoff, failed: ConditionFailed) -> None:
    """Raise what the caller must know; a lost fence is not an error."""
    mine, meta, *others = failed.items
    if mine is not None:
        return
    if meta is not None:
        if not meta:
            raise UnknownSession(handoff.session_id)
        raise Moved(session_of(meta))
    if any(item is not None for item in others):
        raise Conflict("another session moved to the same place")
