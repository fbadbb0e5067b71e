"""Where words go: results to stdout, progress and problems to where they do not disturb a pipe."""

import os
import re
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from handoff_cli.ui.texts import STYLES, clean_styled, json_text, one_line

_COMMANDS = re.compile(r"(?<![\w./-])handoff (chat|config|doctor|resume|send|sessions|status|wait)\b")


class Terminal:
    """Writes for a person or, with `json`, exactly one JSON value to stdout."""

    def __init__(
        self,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        stdin: TextIO | None = None,
        *,
        environ: Mapping[str, str],
        json_output: bool = False,
    ) -> None:
        self._prog = environ.get("HANDOFF_PROG") or "handoff"
        # A stream may be closed altogether, as some schedulers do it: then nothing is read and words go nowhere.
        self.stdout: TextIO = stdout or sys.stdout or open(os.devnull, "w")  # noqa: SIM115, PTH123 - open to the end
        self.stderr: TextIO = stderr or sys.stderr or open(os.devnull, "w")  # noqa: SIM115, PTH123 - open to the end
        self.stdin: TextIO = stdin or sys.stdin or open(os.devnull)  # noqa: SIM115, PTH123 - open to the end
        self.json_output = json_output
        self._dumb = environ.get("TERM") == "dumb"
        self._plain = bool(environ.get("NO_COLOR")) or self._dumb
        self._pending = False

    @property
    def interactive(self) -> bool:
        """May this command ask the person something?"""
        return self.stdin.isatty() and self.stdout.isatty()

    @property
    def _progress(self) -> TextIO | None:
        if not self.json_output:
            return self.stdout
        return self.stderr if self.stderr.isatty() else None

    @property
    def colour(self) -> bool:
        """May stdout be coloured?"""
        return self.stdout.isatty() and not self._plain

    @property
    def can_draw(self) -> bool:
        """Can stdout show block characters?"""
        utf8 = (self.stdout.encoding or "").lower().replace("-", "") == "utf8"
        return self.stdout.isatty() and utf8 and not self._dumb and not self.json_output

    def style(self, text: str, style: str, *, to: TextIO | None = None) -> str:
        """The text in a style where the stream shows it, else unchanged."""
        stream = to or self._progress
        if self._plain or stream is None or not stream.isatty():
            return text
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m"

    def say(self, text: str = "") -> None:
        """A line for a person; in JSON mode it goes to a terminal on stderr, or nowhere."""
        if (stream := self._progress) is not None:
            self._erase(stream)
            self._write(stream, clean_styled(text) + "\n")

    def pulse(self, text: str) -> None:
        """A sign of life that the next line overwrites; only where a terminal can."""
        stream = self._progress
        if stream is None or not stream.isatty() or self._dumb:
            return
        self._erase(stream)
        self._write(stream, clean_styled(text))
        self._pending = True

    def settle(self) -> None:
        """Removes the sign of life."""
        if (stream := self._progress) is not None:
            self._erase(stream)
            stream.flush()

    def result(self, value: Any) -> None:
        """The command's JSON result; says nothing outside JSON mode."""
        if self.json_output:
            self._write(self.stdout, json_text(value))

    def to_copy(self, text: str) -> str:
        """A text for a person in which our commands are called as this program was, so that a copied line works."""
        return _COMMANDS.sub(lambda match: f"{self._prog} {match[1]}", text)

    def ask(self, question: str) -> str:
        """The person's answer on one line; only where `interactive`. Raises EOFError and KeyboardInterrupt."""
        self._erase(self.stdout)
        self._write(self.stdout, question)
        answer = self.stdin.readline()
        if not answer:
            raise EOFError
        return answer.strip()

    def block(self, text: str) -> None:
        """A drawing of our own, as it is; not in JSON mode."""
        if not self.json_output:
            self.settle()
            self._write(self.stdout, text)

    def raw(self, text: str) -> None:
        """The command's result where it is not JSON mode that decides: a file, a script."""
        self._write(self.stdout, text)

    def warn(self, text: str) -> None:
        """One line on stderr that ends nothing."""
        self.settle()
        self._write(self.stderr, f"{self.style('handoff:', 'yellow', to=self.stderr)} {one_line(self.to_copy(text))}\n")

    def problem(self, text: str) -> None:
        """One line on stderr."""
        self.settle()
        self._write(self.stderr, f"{self.style('handoff:', 'red', to=self.stderr)} {one_line(self.to_copy(text))}\n")

    def _erase(self, stream: TextIO) -> None:
        if self._pending:
            stream.write("\r\x1b[K")
            self._pending = False

    def _write(self, stream: TextIO, text: str) -> None:
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()
