"""Partial batch failures: reads the `batchItemFailures` of a function's result."""

from collections.abc import Collection
from typing import Any

from local.cloud.invoke import Result


def failed_ids(result: Result, ids: Collection[str], *, partial_failures: bool) -> set[str]:
    """Return the ids to retry: none after a success, all after a failure or an invalid result.

    An id that is not in the batch, an empty id and a missing id make the whole batch fail, as on Lambda.
    """
    everything = set(ids)
    if result.error is not None:
        return everything
    if not partial_failures or not result.payload:
        return set()
    failures: Any = result.payload.get("batchItemFailures") if isinstance(result.payload, dict) else "invalid"
    if not failures:
        return set()
    if not isinstance(failures, list):
        return everything
    named = {str(one.get("itemIdentifier")) if isinstance(one, dict) else "" for one in failures}
    return named if named <= everything else everything
