"""Hold a read until something has changed, instead of letting its client ask again and again."""

from collections.abc import Callable, Collection
from typing import Generic, NamedTuple, Protocol, TypeVar

T = TypeVar("T")
LONGEST_HOLD = 25.0
"""Seconds. Below the time-outs of gateways and of clients, which are usually 30."""


class Subject(NamedTuple):
    """The subject that a reader waits for and that a write changes."""

    kind: str
    id: str


def of_handoff(handoff_id: str) -> Subject:
    return Subject("handoff", handoff_id)


def of_session(session_id: str) -> Subject:
    """The session without its transcript: where it lives, its turn, how many messages it has."""
    return Subject("session", session_id)


def of_runner(user_id: str, runner_id: str) -> Subject:
    """A runner, and the turns and orders that wait for it."""
    return Subject("runner", f"{user_id}/{runner_id}")


class Read(NamedTuple, Generic[T]):
    """The last read. `was_held`: this service holds reads, so the client may ask again at once."""

    value: T
    was_held: bool


class Changes(Protocol):
    """Wakes readers when a write has changed their subject."""

    async def hold(
        self,
        subjects: Collection[Subject],
        seconds: float,
        read: Callable[[], T],
        is_news: Callable[[T], bool],
    ) -> Read[T]:
        """Read, and again whenever one of the subjects has changed, until a value is news or the time is over.

        Errors of `read` reach the caller.
        """


class NoChanges:
    """Where a held request would be paid for, as on Lambda: each read is answered at once."""

    async def hold(
        self,
        subjects: Collection[Subject],  # noqa: ARG002  # the interface
        seconds: float,  # noqa: ARG002
        read: Callable[[], T],
        is_news: Callable[[T], bool],  # noqa: ARG002
    ) -> Read[T]:
        return Read(read(), was_held=False)
