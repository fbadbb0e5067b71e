"""Subjects of a written item: the readers that wait for it."""

from collections.abc import Mapping
from typing import Any

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
