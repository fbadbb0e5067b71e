"""A sweep that comes round every moment instead of every minute, so that a test need not wait for one."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from local.service import LocalService

PAUSE = 0.25


@contextmanager
def sweeping(service: LocalService) -> Iterator[None]:
    """While the body runs, the sweep runs again and again."""
    over = threading.Event()

    def go_round() -> None:
        while not over.wait(PAUSE):
            service.sweep_now()

    rounds = threading.Thread(target=go_round, name="sweeping", daemon=True)
    rounds.start()
    try:
        yield
    finally:
        over.set()
        rounds.join(10)
