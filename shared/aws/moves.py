"""A session moves from place to place: into a handoff's thread, to a chat that asks for it, back to its terminal."""

from collections.abc import Sequence
from dataclasses import replace

from shared.aws.conditions import allowed, ended_by, fence_is_mine, not_bound
from shared.aws.sessions import session_of
from shared.aws.tables import Tables, back_route_key, handoff_key, meta_key, route_key
from shared.aws.writes import Check, Put, Refusal, Update, Write, absent, differs, either, equals, transact
from shared.domain.handoffs import Handoff, Reason, Step
from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.errors import Conflict, Moved, PlaceBusy, UnknownSession


class DynamoMoves:
    """The `Moves` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def rebind(self, handoff: Handoff, *, now: int) -> Handoff | None:
        return rebind(self._tables, handoff, now=now)

    def to_terminal(self, session: Session, *, now: int) -> Session:
        return to_terminal(self._tables, session, now=now)

    def to_chat(self, session: Session, place: Place, link: str, *, now: int) -> Session:
        return to_chat(self._tables, session, place, link, now=now)


def rebind(tables: Tables, handoff: Handoff, *, now: int) -> Handoff | None:
    if handoff.thread is None:
        raise ValueError("a session moves into a thread that is recorded")
    place = handoff.thread.place
    epoch = handoff.request_epoch + 1
    other, tenant = _tenant(tables, place, handoff.session_id)
    if tenant and tenant.owner == place:
        _refuse_to_park(tenant, place, handoff.user_id, replace_allowed=handoff.replace)
    writes: list[Write] = [
        Update(
            tables.handoffs,
            handoff_key(handoff.id),
            when=[allowed("rebind"), fence_is_mine(handoff), not_bound(), equals("thread.route", place.route)],
            set={"bound_epoch": epoch, f"steps.{Step.MOVED}": now, "updated_at": now},
        ),
        Update(
            tables.sessions,
            meta_key(handoff.session_id),
            when=[equals("epoch", handoff.request_epoch), equals("active_handoff", handoff.id)],
            set={"owner": place.route, "epoch": epoch, "link": handoff.thread.url, "updated_at": now},
            add={"version": 1},
        ),
        _take_route(tables, place, handoff.thread.url, handoff.session_id, other),
        Put(tables.sessions, back_route_key(handoff.session_id, place)),
        *(_evict(tables, tenant, place.route, now) if tenant else []),
    ]
    try:
        transact(tables.client, writes)
    except Refusal as refusal:
        _explain_rebind(handoff, refusal)
        return None
    # Not read back: whoever took over meanwhile has a newer fence, and this claimant must not come to hold it.
    return replace(handoff, bound_epoch=epoch, steps={**handoff.steps, Step.MOVED.value: now}, updated_at=now)


def _tenant(tables: Tables, place: Place, session_id: str) -> tuple[str | None, Session | None]:
    """Which other session a place's route points to, and that session if it still exists."""
    pointer = tables.get(tables.sessions, route_key(place))
    if not pointer or pointer["session_id"] == session_id:
        return None, None
    meta = tables.get(tables.sessions, meta_key(pointer["session_id"]))
    return pointer["session_id"], session_of(meta) if meta else None


def _refuse_to_park(tenant: Session, place: Place, user_id: str, *, replace_allowed: bool) -> None:
    """One's own session may be parked where that was asked for; somebody else's never."""
    is_mine = tenant.user_id == user_id
    if not is_mine or not replace_allowed:
        raise PlaceBusy(place.route, is_mine=is_mine)


def _take_route(tables: Tables, place: Place, link: str, session_id: str, other: str | None) -> Put:
    """Let the route point here, if it still points where it did when it was read.

    It keeps the place's link for a session that comes back to it from a handoff that failed.
    """
    as_read = [absent("pk"), equals("session_id", session_id), *([equals("session_id", other)] if other else [])]
    return Put(tables.sessions, {**route_key(place), "session_id": session_id, "link": link}, [either(*as_read)])


def to_terminal(tables: Tables, session: Session, *, now: int) -> Session:
    move = Update(
        tables.sessions,
        meta_key(session.id),
        when=[equals("version", session.version)],
        set={
            "owner": session.cli.route,
            "updated_at": now,
            **dict.fromkeys(("link", "active_handoff", "turn_id", "turn_lease_until")),
        },
        add={"version": 1, "epoch": 1},
    )
    writes: list[Write] = [move]
    if session.active_handoff:
        writes.append(_end_by_resume(tables, session.active_handoff, now))
    return _move(tables, session, _arrived(session, session.cli, None, now), writes)


def _end_by_resume(tables: Tables, handoff_id: str, now: int) -> Update:
    reason = Reason("resumed", "The session was resumed elsewhere before the handoff was done.")
    ended = ended_by("resume", reason, now)
    return Update(tables.handoffs, handoff_key(handoff_id), when=[allowed("resume")], set=ended)


def _move(tables: Tables, session: Session, moved: Session, writes: Sequence[Write]) -> Session:
    """Do the writes and return the session as they leave it: exact, because its version was as read."""
    try:
        transact(tables.client, writes)
    except Refusal:
        raise Conflict(f"session {session.id} changed meanwhile") from None
    return moved


def to_chat(tables: Tables, session: Session, place: Place, link: str, *, now: int) -> Session:
    other, tenant = _tenant(tables, place, session.id)
    if tenant and tenant.owner == place:
        _refuse_to_park(tenant, place, session.user_id, replace_allowed=True)
    writes: list[Write] = [
        Update(
            tables.sessions,
            meta_key(session.id),
            when=[equals("version", session.version)],
            set={
                "owner": place.route,
                "link": link,
                "updated_at": now,
                **dict.fromkeys(
                    ("active_handoff", "turn_id", "turn_lease_until", "suspended", "strikes", "resume_pending")
                ),
            },
            add={"version": 1, "epoch": 1},
        ),
        _take_route(tables, place, link, session.id, other),
        Put(tables.sessions, back_route_key(session.id, place)),
        *(_evict(tables, tenant, place.route, now) if tenant else []),
        *([_end_by_resume(tables, session.active_handoff, now)] if session.active_handoff else []),
    ]
    arrived = replace(_arrived(session, place, link, now), suspended=False, strikes=0, resume_pending=None)
    return _move(tables, session, arrived, writes)


def _arrived(session: Session, place: Place, link: str | None, now: int) -> Session:
    """A session after a move that ended its turn and its handoff."""
    return replace(
        session,
        owner=place,
        link=link,
        epoch=session.epoch + 1,
        version=session.version + 1,
        updated_at=now,
        active_handoff=None,
        turn=None,
    )


def _evict(tables: Tables, tenant: Session, route: str, now: int) -> list[Write]:
    """Park the session that lives at the place (back to its terminal), or make sure that the other one has not come back.

    A handoff that was just bringing it there ends with it.
    """
    if tenant.owner.route != route:
        return [Check(tables.sessions, meta_key(tenant.id), [differs("owner", route)])]
    on_its_way = tenant.active_handoff
    park = Update(
        tables.sessions,
        meta_key(tenant.id),
        when=[equals("owner", route), equals("active_handoff", on_its_way) if on_its_way else absent("active_handoff")],
        set={
            "owner": tenant.cli.route,
            "updated_at": now,
            **dict.fromkeys(("link", "active_handoff", "turn_id", "turn_lease_until")),
        },
        add={"version": 1, "epoch": 1},
    )
    return [park, *([_end_by_resume(tables, on_its_way, now)] if on_its_way else [])]


def _explain_rebind(handoff: Handoff, refusal: Refusal) -> None:
    """Raise what the caller must know; a lost fence is not among it."""
    mine, meta, *others = refusal.items
    if mine is not None:
        return
    if meta is not None:
        if not meta:
            raise UnknownSession(handoff.session_id)
        raise Moved(session_of(meta))
    if any(item is not None for item in others):
        raise Conflict("another session came to the same place meanwhile")
