"""A shell in a real pseudo-terminal: types like a person, and keeps a frame for each key and each line."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Self

import pexpect  # type: ignore[import-untyped]  # publishes no types

from docs.recording.emulator import Emulator
from docs.recording.frames import COLUMNS, ROWS, Frame

SHELL_PROMPT, CHAT_PROMPT = "$ ", "> "
_ERASE = "\r\x1b[K"
_PIECES = re.compile(rf"(?<=\n)|(?={re.escape(_ERASE)})")
_PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Kept:
    """A frame worth showing, and why: after a key, after a line, before a sign of life was erased. `rest` adds to its time."""

    frame: Frame
    reason: Literal["key", "line", "pulse"]
    rest: int = 0


class Terminal:
    """What is kept depends on what was written, never on the pieces in which it happened to arrive."""

    def __init__(self, environ: Mapping[str, str], directory: str) -> None:
        self._child = pexpect.spawn(
            "/bin/sh",
            env={**environ, "PS1": SHELL_PROMPT, "TERM": "xterm-256color"},
            cwd=directory,
            encoding="utf-8",
            dimensions=(ROWS, COLUMNS),
        )
        self._child.delaybeforesend = None
        self._emulator = Emulator(COLUMNS, ROWS)
        self.kept: list[Kept] = []

    def __enter__(self) -> Self:
        self.await_prompt(SHELL_PROMPT)
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close(force=True)

    def type(self, text: str) -> None:
        """Key by key, each seen on the screen before the next."""
        for count in range(1, len(text) + 1):
            self._child.send(text[count - 1])
            self._read(partial(self._shows, text[:count]), keep_lines=False)
            self._keep("key")

    def enter(self, *, then: str) -> None:
        """Until that prompt is there."""
        before = len(self.kept)
        self._child.send("\r")
        self._read(lambda: len(self.kept) > before, keep_lines=True)
        self.await_prompt(then)

    def await_prompt(self, prompt: str) -> None:
        ready = prompt == CHAT_PROMPT
        self._read(
            lambda: self._emulator.before_cursor == prompt and self._emulator.reads_keys == ready, keep_lines=True
        )
        self._keep("key")

    def rest(self, milliseconds: int) -> None:
        """Give people time to read what is there."""
        self.kept[-1] = replace(self.kept[-1], rest=self.kept[-1].rest + milliseconds)

    def _shows(self, typed: str) -> bool:
        return self._emulator.before_cursor.endswith(typed)

    def _read(self, condition: Callable[[], bool], *, keep_lines: bool) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"The terminal did not get there: {self._emulator.before_cursor!r}")
            try:
                chunk = self._child.read_nonblocking(4096, timeout=_POLL_SECONDS)
            except pexpect.TIMEOUT:
                continue
            for piece in _PIECES.split(chunk):
                if keep_lines and piece.startswith(_ERASE):
                    self._keep("pulse")
                self._emulator.feed(piece)
                if keep_lines and piece.endswith("\n"):
                    self._keep("line")

    def _keep(self, reason: Literal["key", "line", "pulse"]) -> None:
        frame = self._emulator.frame()
        if not self.kept or self.kept[-1].frame != frame:
            self.kept.append(Kept(frame, reason))
