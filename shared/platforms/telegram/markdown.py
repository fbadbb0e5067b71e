"""Escapes whatever the converter to Telegram's entities would drop from Markdown."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyromark

from shared.platforms.markdown.code_blocks import CodeBlock

_OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_MATH
)
_MOST_PASSES = 40
# In prose: a name that Telegram would notify, and `||`, which the converter would read as a spoiler.
_IN_PROSE = {
    re.compile(rb"(?<![\w/.])@(?=[A-Za-z]\w{3,31})"): "@\u2060".encode(),
    re.compile(rb"(?<!\\)\|\|"): rb"\||",
}
_COMMAND = re.compile(r"\\[A-Za-z]")
_SCHEMES = ("http://", "https://", "tg://", "mailto:")

Edit = tuple[int, int, bytes]  # of UTF-8 bytes: from, to, replacement


def plain(markdown: str) -> str | None:
    """The text with HTML, dollars, odd links and unused link definitions as plain text, and without mentions.

    A change may affect how the rest is parsed, so this repeats until nothing changes; None after too many passes.
    """
    for _ in range(_MOST_PASSES):
        source = markdown.encode()
        edits = _apart(sorted(_Walk(source).edits(markdown)))
        if not edits:
            return markdown
        for start, end, instead in reversed(edits):
            source = source[:start] + instead + source[end:]
        markdown = source.decode()
    return None


def _apart(edits: Sequence[Edit]) -> list[Edit]:
    """The edits that do not touch each other; the others are left to the next pass."""
    apart: list[Edit] = []
    for edit in edits:
        if not apart or edit[0] > apart[-1][1]:
            apart.append(edit)
    return apart


@dataclass
class _Link:
    start: int
    end: int
    dest: str
    is_image: bool
    label_start: int | None = None
    label_end: int = 0


class _Walk:
    """One pass over the parser's events."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._in_code = self._in_table = self._in_html_code = False
        self._links: list[_Link] = []
        self._used: set[str] = set()

    def edits(self, markdown: str) -> Iterator[Edit]:
        handlers: dict[str, Callable[[Any, int, int], Iterator[Edit]]] = {
            "Start": self._start,
            "End": self._end,
            "Html": self._html,
            "InlineHtml": lambda _, start, __: self._escaped(start),
            "InlineMath": self._math,
            "DisplayMath": self._math,
            "Text": self._text,
        }
        for payload, span in pyromark.events_with_range(markdown, options=_OPTIONS):
            kind, value = next(iter(payload.items())) if isinstance(payload, dict) else (payload, None)
            if not (kind == "End" and value in ("Link", "Image")):
                self._note_label(span["start"], span["end"])
            if kind in handlers:
                yield from handlers[kind](value, span["start"], span["end"])
        for label, definition in pyromark.reference_definitions(markdown).items():
            if label.casefold() not in self._used:
                yield from self._escaped(definition["span"]["start"])

    def _start(self, tag: Any, start: int, end: int) -> Iterator[Edit]:
        name, data = next(iter(tag.items())) if isinstance(tag, dict) else (tag, {})
        if name in ("Link", "Image"):
            self._used.add(data["id"].casefold())
            self._links.append(_Link(start, end, data["dest_url"], name == "Image"))
        self._in_code |= name == "CodeBlock"
        self._in_table |= name == "Table"
        self._in_html_code &= name != "HtmlBlock"
        return iter(())

    def _end(self, tag: Any, *_: int) -> Iterator[Edit]:
        self._in_code &= tag != "CodeBlock"
        self._in_table &= tag != "Table"
        if tag in ("Link", "Image"):
            yield from self._written_out(self._links.pop())

    def _note_label(self, start: int, end: int) -> None:
        for link in self._links:
            link.label_start = start if link.label_start is None else link.label_start
            link.label_end = end

    def _written_out(self, link: _Link) -> Iterator[Edit]:
        """Telegram links only URLs with a scheme, and none in tables, which become preformatted text."""
        label = b"" if link.label_start is None else self._source[link.label_start : link.label_end]
        dest = link.dest.encode()
        if link.dest.startswith(_SCHEMES) and not self._in_table:
            if not label:
                yield link.start, link.end, b"[image](<" + dest + b">)" if link.is_image else b"<" + dest + b">"
            return
        quoted = b"`" + dest.replace(b"`", b"'") + b"`" if dest else b""
        together = b"%s (%s)" % (label, quoted) if label and dest and label != dest else quoted or label
        yield link.start, link.end, together

    def _html(self, line: str, start: int, end: int) -> Iterator[Edit]:
        # A code block inside HTML becomes code once the HTML is escaped, so its content must stay unchanged.
        self._in_html_code |= CodeBlock.opened_by(line.rstrip("\n")) is not None
        if not self._in_html_code and "<" in line:
            yield from self._escaped(self._source.index(b"<", start, end))

    def _math(self, math: str, start: int, _: int) -> Iterator[Edit]:
        # Without a command it may as well be `$HOME/$PATH`, and is readable as it is.
        return self._escaped(start) if not _COMMAND.search(math) else iter(())

    def _text(self, _: str, start: int, end: int) -> Iterator[Edit]:
        if not self._in_code:
            for pattern, instead in _IN_PROSE.items():
                for match in pattern.finditer(self._source, start, end):
                    yield match.start(), match.end(), instead

    def _escaped(self, at: int) -> Iterator[Edit]:
        yield at, at, b"\\"
