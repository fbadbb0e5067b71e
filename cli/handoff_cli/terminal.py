"""Where words go: results to stdout, progress and problems to where they do not disturb a pipe."""

import json
import re
import sys
from collections.abc import Mapping
from typing import Any, TextIO

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_COMMANDS = re.compile(r"(?<![\w./-])handoff (chat|config|doctor|resume|send|sessions|status|wait)\b")
_KEPT_CONTROLS = "\n\t"


def clean(text: str) -> str:
    """The text without control characters, so that nobody's message can drive this terminal."""
    return "".join(c for c in text if c in _KEPT_CONTROLS or (c.isprintable() or ord(c) > 0x9F))


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """JSON for a person and a program; escaped only where it could not be written otherwise."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent)
    return text + "\n"


def one_line(text: str, width: int = 0) -> str:
    """The text on one line, cut to `width` if given."""
    line = " ".join(clean(text).split())
    return line if not width or len(line) <= width else line[: width - 1].rstrip() + "…"


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
        self.stdout = stdout or sys.stdout
        self.stderr = stderr or sys.stderr
        self.stdin = stdin or sys.stdin
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
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"

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


def clean_styled(text: str) -> str:
    """Like `clean`, but keeps the escape sequences that `style` made."""
    parts = text.split("\x1b[")
    kept = [clean(parts[0])]
    for part in parts[1:]:
        head, mark, rest = part.partition("m")
        kept.append(f"\x1b[{head}m{clean(rest)}" if mark and head in {"0", *_STYLES.values()} else clean(part))
    return "".join(kept)
