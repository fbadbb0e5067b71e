"""The agent that answers messages, and how its caller cancels it."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from shared.domain.files import StoredFile
from shared.domain.messages import Message
from shared.errors import AgentCancelled

log = logging.getLogger(__name__)


class Cancellation:
    """One request to stop, made by the caller of an agent; once cancelled, it stays cancelled."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: dict[object, Callable[[], None]] = {}

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Stop the agent: runs what `closing` registered. Idempotent, and safe from any thread."""
        with self._lock:
            self._cancelled.set()
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            _run(callback)

    def check(self) -> None:
        """Raise AgentCancelled if cancelled."""
        if self.is_cancelled:
            raise AgentCancelled

    def wait(self, seconds: float) -> bool:
        """Pause; returns early if cancelled, and whether it is."""
        return self._cancelled.wait(seconds)

    @contextmanager
    def closing(self, callback: Callable[[], None]) -> Iterator[None]:
        """Run `callback` when cancelled, in the thread that cancels; at once if cancelled already; at most once.

        It may still be running when the block ends. Its exceptions are logged by type, not raised.
        """
        key = object()
        with self._lock:
            is_late = self.is_cancelled
            if not is_late:
                self._callbacks[key] = callback
        if is_late:
            _run(callback)
        try:
            yield
        finally:
            with self._lock:
                self._callbacks.pop(key, None)


def _run(callback: Callable[[], None]) -> None:
    try:
        callback()
    except Exception as error:  # noqa: BLE001  # the others must run too; the text may quote an address
        log.warning("cancelling: a callback failed (%s)", type(error).__name__)


Listener = Callable[[str], None]
"""Takes all that the model has said so far in this try. Raises nothing and returns at once; any thread may call it."""


@dataclass(frozen=True)
class TurnInput:
    """The messages to answer, before `deadline` (milliseconds). `note` is for the agent only and not stored.

    `progress` is called while the model speaks, any number of times or never. What it was given is no promise: the
    reply may differ, and a new try starts again. `model` is one that the user chose of those that the operator lists;
    None leaves it to the agent. `read_file` gives the bytes of a file that a message names, None if they are gone.
    """

    messages: Sequence[Message]
    deadline: int
    cancellation: Cancellation
    note: str | None = None
    progress: Listener | None = None
    model: str | None = None
    read_file: Callable[[StoredFile], bytes | None] | None = None


class Agent(Protocol):
    """Answers messages; it sees the whole transcript with its roles."""

    def reply(self, turn: TurnInput) -> str:
        """Answer the last message.

        Raises AgentUnavailable (temporary) or AgentFailed (permanent), never with a secret in the text, and
        AgentCancelled within about a second of the cancellation, whatever it is doing.
        """
