"""Progress that goes on while the program waits for an answer."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from handoff_cli.ui.terminal import Terminal


@contextmanager
def ticking(terminal: Terminal, text: Callable[[], str | None], *, every: float) -> Iterator[None]:
    """Show what `text` returns as progress, every so many seconds, while the block runs; it must write nothing.

    None shows nothing yet. Without a terminal that shows progress there is no thread.
    """
    if not terminal.shows_progress:
        yield
        return
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            if (shown := text()) is not None:
                terminal.progress(shown)
            stop.wait(every)

    thread = threading.Thread(target=tick, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
