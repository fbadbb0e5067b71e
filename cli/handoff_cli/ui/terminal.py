"""Write results to stdout; progress and problems to where they do not end up in a pipe."""

import os
import re
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from handoff_cli.ui.text import STYLES, clean_styled, json_text, one_line

_COMMANDS = re.compile(
    r"(?<![\w./-])handoff (chat|config|deploy|destroy|doctor|homes|invite|link|login|resume|run|runners"
    r"|send|sessions|setup|status|tokens|up|wait)\b"
)


class Terminal:
    """Writes text for users or, with `json_output`, exactly one JSON value to stdout."""

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
        # Some schedulers start programs with closed streams: read nothing and discard the output.
        self.stdout: TextIO = stdout or sys.stdout or open(os.devnull, "w")  # noqa: SIM115, PTH123 - open to the end
        self.stderr: TextIO = stderr or sys.stderr or open(os.devnull, "w")  # noqa: SIM115, PTH123 - open to the end
        self.stdin: TextIO = stdin or sys.stdin or open(os.devnull)  # noqa: SIM115, PTH123 - open to the end
        self.json_output = json_output
        self._dumb = environ.get("TERM") == "dumb"
        self._plain = bool(environ.get("NO_COLOR")) or self._dumb
        self._pending = False

    @property
    def interactive(self) -> bool:
        """May this command ask the user something?"""
        return self.stdin.isatty() and self.stdout.isatty()

    @property
    def _stream(self) -> TextIO | None:
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

    @property
    def shows_progress(self) -> bool:
        """Is there a terminal that can overwrite a line?"""
        stream = self._stream
        return stream is not None and stream.isatty() and not self._dumb

    def style(self, text: str, style: str, *, to: TextIO | None = None) -> str:
        """The text in a style if the stream shows styles, else unchanged."""
        stream = to or self._stream
        if self._plain or stream is None or not stream.isatty():
            return text
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m"

    def say(self, text: str = "") -> None:
        """Write a line for the user; in JSON mode to stderr if that is a terminal."""
        if (stream := self._stream) is not None:
            self._erase(stream)
            self._write(stream, clean_styled(text) + "\n")

    def progress(self, text: str) -> None:
        """Show progress that the next line overwrites; only on a terminal."""
        stream = self._stream
        if stream is None or not self.shows_progress:
            return
        self._erase(stream)
        self._write(stream, clean_styled(text))
        self._pending = True

    def clear_progress(self) -> None:
        """Remove the progress line."""
        if (stream := self._stream) is not None:
            self._erase(stream)
            stream.flush()

    def result(self, value: Any) -> None:
        """Write the JSON result; nothing outside JSON mode."""
        if self.json_output:
            self._write(self.stdout, json_text(value))

    def to_copy(self, text: str) -> str:
        """The text with `handoff …` commands spelled as this program was started, so that a copied line works."""
        return _COMMANDS.sub(lambda match: f"{self._prog} {match[1]}", text)

    def ask(self, question: str) -> str:
        """The user's answer on one line; only if `interactive`. Raises EOFError and KeyboardInterrupt."""
        self._erase(self.stdout)
        self._write(self.stdout, question)
        answer = self.stdin.readline()
        if not answer:
            raise EOFError
        return answer.strip()

    def block(self, text: str) -> None:
        """Write several lines unchanged; nothing in JSON mode."""
        if not self.json_output:
            self.clear_progress()
            self._write(self.stdout, text)

    def raw(self, text: str) -> None:
        """Write the result unchanged, in every mode: an exported file, a script."""
        self._write(self.stdout, text)

    def warn(self, text: str) -> None:
        """Write a warning as one line to stderr."""
        self._to_stderr(text, "yellow")

    def problem(self, text: str) -> None:
        """Write an error as one line to stderr."""
        self._to_stderr(text, "red")

    def _to_stderr(self, text: str, colour: str) -> None:
        self.clear_progress()
        self._write(self.stderr, f"{self.style('handoff:', colour, to=self.stderr)} {one_line(self.to_copy(text))}\n")

    def _erase(self, stream: TextIO) -> None:
        if self._pending:
            stream.write("\r\x1b[K")
            self._pending = False

    def _write(self, stream: TextIO, text: str) -> None:
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()
