"""Reads that may be held for a while, for a caller whose token may be revoked in the meantime."""

from collections.abc import Callable, Collection
from typing import TypeVar

from shared.ports.changes import Read, Subject
from shared.services import Services
from shared.use_cases.people.authenticate import Caller, authenticate_again

T = TypeVar("T")


async def hold(
    services: Services,
    caller: Caller,
    subjects: Collection[Subject],
    seconds: float,
    *,
    read: Callable[[], T],
    is_news: Callable[[T], bool],
) -> Read[T]:
    """`services.changes.hold`. Raises Unauthenticated instead of an answer that the caller may not see any more."""
    reads = 0

    def counted() -> T:
        nonlocal reads
        reads += 1
        return read()

    found = await services.changes.hold(subjects, seconds, counted, is_news)
    if found.was_held or reads > 1:  # else it was read right after the guard has checked the token
        authenticate_again(services.store.accounts, caller, now=services.clock.now())
    return found
