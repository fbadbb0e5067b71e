"""Moves of a session: into a handoff's thread, to a chat, back to its terminal."""

from collections.abc import Sequence
from dataclasses import replace

from shared.domain.handoffs import Handoff, Reason, Step
from shared.domain.offers import Offer
from shared.domain.routes import Place
from shared.domain.sessions import Session, Turn
from shared.errors import Conflict, Moved, PlaceBusy, UnknownSession
from shared.ports.conditions import absent, differs, either, equals
from shared.ports.tables import Check, ConditionFailed, Put, Table, Tables, Update, Write
from shared.store.keys import back_route_key, handoff_key, meta_key, route_key
from shared.store.offers import new_offer
from shared.store.session_items import readable_session, turn_value
from shared.store.transitions import allowed, allows, ended_by, fence_is_mine, not_bound
from shared.store.versions import stamped

RETURNED = dict.fromkeys(("link", "active_handoff", "turn", "shared"))
"""The attributes that a session loses when it returns to its terminal."""


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
        raise Moved(session) if (session := readable_session(meta)) else UnknownSession(handoff.session_id)
    if any(item is not None for item in others):
        raise Conflict("another session moved to the same place")


def move_in(
    tables: Tables, place: Place, link: str, *, session_id: str, user_id: str, may_replace: bool, now: int
) -> Sequence[Write]:
    """The writes that let a place lead to a session and evict the session that lives there.

    They hold only if the place is as it was read. Raises PlaceBusy if the session there must not be evicted: another
    user's, or the same user's unless `may_replace`.
    """
    other, tenant = _tenant(tables, place, session_id)
    if tenant and tenant.owner == place:
        is_mine = tenant.user_id == user_id
        if not is_mine or not may_replace:
            raise PlaceBusy(place.route, is_mine=is_mine)
    as_read = [absent("pk"), equals("session_id", session_id), *([equals("session_id", other)] if other else [])]
    route = stamped({**route_key(place), "session_id": session_id, "link": link})  # the link for a return to this place
    return [
        Put(Table.SESSIONS, route, [either(*as_read)]),
        Put(Table.SESSIONS, stamped(back_route_key(session_id, place))),
        *(_evict(tables, tenant, place.route, now) if tenant else []),
    ]


def _tenant(tables: Tables, place: Place, session_id: str) -> tuple[str | None, Session | None]:
    """The id of another session that the place's route points to, and that session if it still exists."""
    pointer = tables.get(Table.SESSIONS, route_key(place))
    if not pointer or pointer["session_id"] == session_id:
        return None, None
    meta = tables.get(Table.SESSIONS, meta_key(pointer["session_id"]))
    return pointer["session_id"], readable_session(meta) if meta else None


def _evict(tables: Tables, tenant: Session, route: str, now: int) -> Sequence[Write]:
    """Return the session to its terminal and end its handoff; for one that lives elsewhere, check that it still does."""
    if tenant.owner.route != route:
        return [Check(Table.SESSIONS, meta_key(tenant.id), [differs("owner", route)])]
    handoff_id = tenant.active_handoff
    handoff_as_read = equals("active_handoff", handoff_id) if handoff_id else absent("active_handoff")
    park = Update(
        Table.SESSIONS,
        meta_key(tenant.id),
        when=[equals("owner", route), handoff_as_read],
        set={"owner": tenant.cli.route, "updated_at": now, **RETURNED},
        add={"version": 1, "epoch": 1},
    )
    return [park, *end_handoff(tables, handoff_id, now)]


def end_handoff(tables: Tables, handoff_id: str | None, now: int) -> Sequence[Write]:
    """The write that cancels a handoff whose session moves away; none without a handoff.

    A handoff that is gone or over (restored tables) must not hold its session for ever. It cannot come back: a request
    writes no handoff for a session that names one.
    """
    if handoff_id is None:
        return []
    key = handoff_key(handoff_id)
    if not allows("resume", tables.get(Table.HANDOFFS, key)):
        return []
    reason = Reason("resumed", "The session was resumed elsewhere before the handoff was done.")
    return [Update(Table.HANDOFFS, key, when=[allowed("resume")], set=ended_by("resume", reason, now))]
