"""Subjects of a written item: the readers that wait for it."""

from collections.abc import Mapping
from typing import Any

from shared.domain.handoffs import OPEN
from shared.ports.changes import Subject, of_handoff, of_runner, of_session
from shared.ports.tables import Table
from shared.store.keys import RUNNER, meta_key

_META = meta_key("")["sk"]


def subject_of(table: Table, item: Mapping[str, Any]) -> Subject | None:
    """The subject that a write of this item changes for readers; None if none of them waits for such items."""
    if table is Table.HANDOFFS:
        return of_handoff(item["handoff_id"])
    if item["sk"] == _META:
        return of_session(item["session_id"])
    if item["pk"].startswith(RUNNER):
        return of_runner(*item["pk"].removeprefix(RUNNER).split("/", 1))
    return None


def is_urgent(table: Table, item: Mapping[str, Any]) -> bool:
    """Whether readers are woken at once: the end of a handoff, or of a session's turn. Steps may wake them together."""
    return item["state"] not in OPEN if table is Table.HANDOFFS else "turn" not in item
