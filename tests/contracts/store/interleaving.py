"""Another process that acts between two steps of a store operation, on any database."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from shared.ports.tables import Tables, Write


@contextmanager
def just_before(tables: Tables, act: Callable[[], object]) -> Iterator[None]:
    """Run `act` once between the reads of the next operation and its transaction."""
    with _replaced(tables, before=act) as seen:
        yield
    assert seen, "no transaction was written"


@contextmanager
def right_after(tables: Tables, act: Callable[[], object]) -> Iterator[list[object]]:
    """Run `act` once when the next transaction is committed and its caller does not know yet."""
    with _replaced(tables, after=act) as seen:
        yield seen


@contextmanager
def _replaced(
    tables: Tables, *, before: Callable[[], object] | None = None, after: Callable[[], object] | None = None
) -> Iterator[list[object]]:
    seen: list[object] = []
    plain = tables.transact
    with pytest.MonkeyPatch.context() as patch:

        def transact(writes: Sequence[Write]) -> None:
            patch.undo()  # the transactions of `act` pass through
            seen.append(writes)
            if before:
                before()
            plain(writes)
            if after:
                after()

        patch.setattr(tables, "transact", transact)
        yield seen
