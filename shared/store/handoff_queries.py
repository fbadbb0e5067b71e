"""Handoffs by user and by the time when the sweep should look at them."""

import logging
from collections.abc import Iterator, Sequence
from itertools import islice

from shared.domain.handoffs import Handoff
from shared.ports.tables import DUE, HANDOFFS_BY_USER, Item, Key, Table, Tables
from shared.store.due import due_items
from shared.store.handoff_items import handoff_of
from shared.store.keys import meta_key

log = logging.getLogger(__name__)
_FILTERED_PAGE = 100
FILTERED = 1000
"""So many handoffs are looked at for those that a filter wants."""
_CLOCKS_DIFFER = 24 * 3600 * 1000
"""Milliseconds. A session and its handoffs may be of different machines, or of one whose clock was set."""


def pages_by_user(
    tables: Tables, user_id: str, *, limit: int | None = None, up_to: int | None = None
) -> Iterator[Sequence[Key]]:
    """The keys of a user's handoffs, newest first, `limit` on each page."""
    after: Item | None = None
    while True:
        page = tables.index(HANDOFFS_BY_USER, user_id, backwards=True, limit=limit, after=after, up_to=up_to)
        yield [Table.HANDOFFS.key_of(row) for row in page.rows]
        if (after := page.next) is None:
            return


def list_handoffs(
    tables: Tables, user_id: str, *, session_id: str | None, state: str | None, limit: int
) -> list[Handoff]:
    """Up to `limit` handoffs of a user, newest first, of a session or in a state among FILTERED.

    Those of a session are looked for from its last change back to its beginning.
    """
    since, up_to = 0, None
    if session_id is not None:
        session = tables.get(Table.SESSIONS, meta_key(session_id))
        if session is None or session["user_id"] != user_id:
            return []
        since, up_to = session["created_at"] - _CLOCKS_DIFFER, session["updated_at"] + _CLOCKS_DIFFER
    has_filter = session_id is not None or state is not None
    pages = pages_by_user(tables, user_id, limit=_FILTERED_PAGE if has_filter else limit, up_to=up_to)
    found: list[Handoff] = []
    for keys in islice(pages, FILTERED // _FILTERED_PAGE if has_filter else None):
        for item in tables.get_many(Table.HANDOFFS, keys):
            handoff = _readable(item)
            if handoff and handoff.created_at < since:
                return found
            if handoff and session_id in (None, handoff.session_id) and state in (None, handoff.state.value):
                found.append(handoff)
                if len(found) == limit:
                    return found
    return found


def due_handoffs(tables: Tables, *, now: int, limit: int) -> list[Handoff]:
    """Up to `limit` open handoffs that are due, the earliest first."""
    found = [_readable(item) for item in due_items(tables, DUE, now=now, limit=limit)]
    return [handoff for handoff in found if handoff and handoff.is_open and not handoff.is_newer]


def _readable(item: Item) -> Handoff | None:
    """The handoff, or None for an incomplete item: it must not hide all others."""
    try:
        return handoff_of(item)
    except (KeyError, TypeError, ValueError):
        log.exception("handoff %s cannot be read", item["handoff_id"])
        return None
