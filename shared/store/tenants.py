"""The session at a place: its route, and its return when another session moves there."""

from collections.abc import Sequence

from shared.domain.handoffs import Reason
from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.errors import PlaceBusy
from shared.ports.conditions import absent, differs, either, equals
from shared.ports.tables import Check, Put, Table, Tables, Update, Write
from shared.store.keys import back_route_key, handoff_key, meta_key, route_key
from shared.store.session_items import session_of
from shared.store.transitions import allowed, allows, ended_by
from shared.store.versions import stamped

RETURNED = dict.fromkeys(("link", "active_handoff", "turn", "shared"))
"""The attributes that a session loses when it returns to its terminal."""


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
    return pointer["session_id"], session_of(meta) if meta else None


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
