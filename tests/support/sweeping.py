"""Runs the sweep several times a second instead of once a minute."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.service import Service

PAUSE = 0.25


@contextmanager
def sweeping(service: Service) -> Iterator[None]:
    """Repeat the sweep while the body runs."""
    done = threading.Event()

    def repeat() -> None:
        while not done.wait(PAUSE):
            service.sweep_now()

    thread = threading.Thread(target=repeat, name="sweeping", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(10)
