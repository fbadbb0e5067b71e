"""Partial batch failures: what a function's `batchItemFailures` says about the batch that it was given."""

from collections.abc import Collection
from typing import Any

from local.cloud.invoke import Result


def failed_ids(result: Result, ids: Collection[str], *, partial_failures: bool) -> set[str]:
    """The ids that are to be tried again: none after a success, all after a failure or an answer nobody can read.

    An id that was not in the batch, an empty one or none at all spoils the whole batch, as on Lambda.
    """
    everything = set(ids)
    if result.error is not None:
        return everything
    if not partial_failures or not result.payload:
        return set()
    failures: Any = result.payload.get("batchItemFailures") if isinstance(result.payload, dict) else "unreadable"
    if not failures:
        return set()
    if not isinstance(failures, list):
        return everything
    named = {str(one.get("itemIdentifier")) if isinstance(one, dict) else "" for one in failures}
    return named if named <= everything else everything
