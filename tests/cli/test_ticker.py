"""Progress while the program waits: on a terminal only, and gone when the wait is over."""

import io
import threading

from handoff_cli.ui.terminal import Terminal
from handoff_cli.ui.ticker import ticking
from tests.support.waiting import eventually


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def progress_threads() -> int:
    return sum(thread.name == "progress" for thread in threading.enumerate())


def test_it_shows_what_there_is_to_show_while_the_block_runs() -> None:
    screen, texts = Screen(), iter([None, "one", "two"])
    terminal = Terminal(screen, screen, environ={})

    with ticking(terminal, lambda: next(texts, "three"), every=0.001):
        eventually(lambda: "three" in screen.getvalue())
        running = progress_threads()

    shown = screen.getvalue()
    assert shown.index("one") < shown.index("two") < shown.index("three")
    assert (running, progress_threads()) == (1, 0)


def test_without_a_terminal_there_is_no_thread() -> None:
    terminal = Terminal(io.StringIO(), io.StringIO(), environ={})

    with ticking(terminal, lambda: "text", every=0.001):
        assert progress_threads() == 0
