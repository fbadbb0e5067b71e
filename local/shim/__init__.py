"""Mends moto so that it can stand in for AWS under many threads; one module per family of defects.

moto keeps its state in module-level objects and its defects in module-level classes, so the mending happens
once per process. Each family below has its regression tests in tests/local/engine/, which fail on plain moto:
a new release of moto has to pass them before `MOTO` may name it.
"""

from functools import cache
from importlib import metadata

from local.shim import (
    access,
    atomicity,
    dispatch,
    iterators,
    loading,
    queries,
    queues,
    receiving,
    streams,
    transactions,
    unused,
)

MOTO = "5.2.5"
FAMILIES = (loading, unused, dispatch, atomicity, streams, iterators, transactions, queries, queues, receiving, access)


class UnknownMotoError(RuntimeError):
    """The shim reaches into moto's classes, so another version is another patient."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"The local cloud stands on moto {MOTO}, but moto {found} is installed. Nothing was started. "
            f"Run `make` anew after deleting .venv, or move local/shim to {found}: set MOTO there, pin the same "
            "version in pyproject.toml, and let tests/local/engine say which mendings still fit."
        )


@cache
def apply() -> None:
    """Mend this process's moto; safe to call again. Raises UnknownMotoError on a version nobody has tested."""
    refuse_other_versions(metadata.version("moto"))
    for family in FAMILIES:
        family.apply()


def refuse_other_versions(found: str) -> None:
    """Raise UnknownMotoError unless `found` is the version that the regression tests ran on."""
    if found != MOTO:
        raise UnknownMotoError(found)
