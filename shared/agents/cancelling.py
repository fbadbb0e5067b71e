"""Call a server so that the call can be cancelled at any moment, and the server sees it."""

import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from math import inf
from typing import TypeVar

from shared.ports.agents import Cancellation

T = TypeVar("T")

Opened = Callable[[socket.socket], None]
"""Takes each TCP connection of a call as soon as it is open, before TLS and before anything is sent."""


LOOK_EVERY = 5.0
GRACE = 0.5
"""Seconds that a call gets to notice itself that its time is over: it knows better why."""


def cancellable(
    call: Callable[[Opened], T], cancellation: Cancellation, *, left: Callable[[], float] = lambda: inf
) -> T:
    """The result of `call`, or what it raises. Raises AgentCancelled at once when cancelled.

    `left` gives the seconds that the call may still take, and is asked every few seconds. When there are none, the call is
    ended as if it was cancelled, and TimeoutError raised: libraries limit the time of a read, not of a whole answer.

    `call` runs in a thread, because nothing can interrupt a name look-up or a connection attempt. Cancelling shuts
    down its connections, which ends it, and leaves the thread alone. A connection that it opens later is shut down
    before anything is sent.
    """
    cancellation.check()
    connections = _Connections()
    result: Future[T] = Future()
    ended = threading.Event()

    def run() -> None:
        try:
            result.set_result(call(connections.add))
        except BaseException as error:  # noqa: BLE001  # raised again in the thread that waits
            result.set_exception(error)
        finally:
            connections.close()
            ended.set()

    def stop() -> None:
        connections.shut_down()
        ended.set()

    with cancellation.closing(stop):
        threading.Thread(target=run, name="agent-request", daemon=True).start()
        try:
            while not ended.wait(max(0.0, min(left() + GRACE, LOOK_EVERY))):
                if left() + GRACE <= 0:
                    raise TimeoutError
        finally:
            connections.shut_down()  # for a late call, or a signal that raises here; all are closed otherwise
    cancellation.check()
    return result.result()


class _Connections:
    """The open connections of one call, through handles of their own.

    A duplicate stays valid while a library wraps the socket in TLS, which empties the socket object, and it cannot
    become another connection's number. Shutting it down wakes a read that is blocked on the original; closing the
    original would not.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handles: list[socket.socket] = []
        self._is_shut_down = False

    def add(self, connection: socket.socket) -> None:
        with self._lock:
            self._handles.append(connection.dup())
            if self._is_shut_down:
                self._shut_down_all()

    def shut_down(self) -> None:
        with self._lock:
            self._is_shut_down = True
            self._shut_down_all()

    def close(self) -> None:
        """Close the handles: a connection ends for the server when the last one is closed."""
        with self._lock:
            for handle in self._handles:
                handle.close()
            self._handles.clear()

    def _shut_down_all(self) -> None:
        for handle in self._handles:
            with suppress(OSError):  # the server was first
                handle.shutdown(socket.SHUT_RDWR)
