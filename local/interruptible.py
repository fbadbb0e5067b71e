"""Programs that Ctrl-C ends with a message and no traceback, even during imports."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
RESTART = signal.SIGUSR1
"""Asks the service on one machine to start again in the same process, with what was set up since."""
INTERRUPTED = 130


def interruptible(program: Callable[[], int], message: str) -> int:
    """Run the program and return its exit code. It should do slow imports itself, so that they can be interrupted."""
    try:
        for signum in SIGNALS:
            signal.signal(signum, _interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # see `start_again`
        return program()
    except KeyboardInterrupt:
        sys.stdout.write(f"\n{message}\n")
        # An interrupt inside exec() of a string, as dataclasses use it, would change the exit status to that of SIGINT:
        # CPython remembers it until the next string.
        exec("")  # noqa: S102 - a constant
        return INTERRUPTED


_restart_wanted = threading.Event()
_stop_wanted = threading.Event()


def heed_restarts() -> None:
    """From now on a RESTART that comes before `wait_for_signal` is kept for it, and does not end the process."""
    signal.signal(RESTART, lambda *_: _restart_wanted.set())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {RESTART})


def heed_stops() -> None:
    """From now on SIGINT and SIGTERM interrupt nothing: one that comes before `wait_for_signal` is kept for it."""
    for signum in SIGNALS:
        signal.signal(signum, lambda *_: _stop_wanted.set())


def start_again(environment: Mapping[str, str]) -> None:
    """Replace this process with its program in the same directory. Returns only if it was told to stop.

    A RESTART that comes in between waits for `heed_restarts`, a stop for `interruptible`.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {RESTART, *SIGNALS})
    if is_stop_wanted():
        return
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], dict(environment))  # noqa: S606  # our own program


def is_stop_wanted() -> bool:
    """Whether SIGINT or SIGTERM came since `heed_stops`: after a RESTART, a stop still counts."""
    return _stop_wanted.is_set()


def wait_for_signal() -> int:
    """Block until SIGINT, SIGTERM or a heeded RESTART, and return which; a stop that was heeded before is a SIGTERM.

    Whichever thread the system gives the signal to, a byte arrives here. A lock would not do: Python handles a signal in
    the main thread only, and a lock that it waits for need not end because of one.
    """
    woken, wake = socket.socketpair()
    wake.setblocking(False)  # noqa: FBT003  # so it is called
    with woken, wake:
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        heed_stops()
        received = 0
        while received not in SIGNALS and not is_stop_wanted() and not _restart_wanted.is_set():
            received = woken.recv(1)[0]
        signal.set_wakeup_fd(-1)
        if received in SIGNALS:
            return received
        return signal.SIGTERM if is_stop_wanted() else RESTART


def _interrupt(*_: object) -> NoReturn:
    """Only the first signal interrupts: the clean-up that follows must run to its end."""
    for signum in SIGNALS:
        signal.signal(signum, signal.SIG_IGN)
    raise KeyboardInterrupt
