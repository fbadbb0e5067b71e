"""Type into a full-screen program on a pseudo-terminal, and read its screen."""

import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import pexpect
import pyte

from tests.support.waiting import eventually

T = TypeVar("T")
COLUMNS, ROWS = 150, 50
KEYS = {"enter": "\r", "escape": "\x1b", "up": "\x1b[A", "down": "\x1b[B", "ctrl-u": "\x15", "ctrl-c": "\x03"}
# A terminal answers what programs ask it; some of them wait for that.
_ANSWERS = {
    b"\x1b[c": "\x1b[?62;22c",
    b"\x1b[0c": "\x1b[?62;22c",
    b"\x1b[6n": "\x1b[1;1R",
    b"\x1b[?u": "\x1b[?0u",
    b"\x1b]11;?": "\x1b]11;rgb:0000/0000/0000\x1b\\",
    b"\x1b]10;?": "\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
}


class _Screen(pyte.Screen):
    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        """Private sequences set keyboard modes, which pyte does not know."""
        if not private:
            super().select_graphic_rendition(*attributes)


class Tui:
    """One program on a screen. Use it in a `with`."""

    def __init__(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], size: tuple[int, int] = (COLUMNS, ROWS)
    ) -> None:
        columns, rows = size
        self._screen = _Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self._child: Any = pexpect.spawn(
            command[0], list(command[1:]), cwd=str(cwd), env=dict(env), dimensions=(rows, columns)
        )
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        # The program may be busy with its own end; what it started ends with the terminal.
        self._child.kill(signal.SIGKILL)
        self._reader.join(10)
        self._child.close(force=True)

    @property
    def text(self) -> str:
        """What is on the screen now."""
        with self._lock:
            return "\n".join(line.rstrip() for line in self._screen.display if line.strip())

    def look(self, read: Callable[[pyte.Screen], T]) -> T:
        """What `read` finds on the screen, while nothing changes it."""
        with self._lock:
            return read(self._screen)

    @property
    def joined(self) -> str:
        """The same without white space, because programs break long lines where they like."""
        return "".join(self.text.split())

    def shows(self, text: str, *, within: float = 40.0) -> str:
        """Wait until the text is on the screen, whatever breaks its lines; returns the screen."""
        wanted = "".join(text.split())
        return eventually(lambda: self.text if wanted in self.joined else None, within=within, show=lambda: self.text)

    def settle(self, *, quiet: float = 0.7) -> None:
        """Wait until the screen has been the same for so many seconds: programs draw in several steps."""
        seen, since = "", time.monotonic()

        def is_quiet() -> bool:
            nonlocal seen, since
            if (now := self.text) != seen:
                seen, since = now, time.monotonic()
            return time.monotonic() - since >= quiet

        eventually(is_quiet, within=30, show=lambda: self.text)

    def type(self, text: str) -> None:
        """Type the text, wait until it is in the input line, then press Enter."""
        self._child.send(text)
        self.shows(text[-40:])
        self.press("enter")

    def press(self, key: str) -> None:
        self._child.send(KEYS.get(key, key))

    def _read(self) -> None:
        while True:
            try:
                data = self._child.read_nonblocking(65536, timeout=0.2)
                for question, answer in _ANSWERS.items():
                    if question in data:
                        self._child.send(answer)
            except pexpect.TIMEOUT:
                continue
            except (pexpect.ExceptionPexpect, OSError):  # the program has ended
                return
            with self._lock:
                self._stream.feed(data)
