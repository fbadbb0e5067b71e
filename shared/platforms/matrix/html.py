"""Markdown as the HTML that Matrix clients show. All HTML in the Markdown itself is shown as text."""

import html
from collections.abc import Callable, Mapping
from typing import Any

import pyromark

_OPTIONS = pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_STRIKETHROUGH | pyromark.Options.ENABLE_TASKLISTS
_SCHEMES = ("http://", "https://", "mailto:", "matrix:")
_PLAIN: Mapping[str, str] = {
    "Paragraph": "p",
    "Emphasis": "em",
    "Strong": "strong",
    "Strikethrough": "del",
    "Item": "li",
    "BlockQuote": "blockquote",
    "TableRow": "tr",
}
_LITERAL = {"SoftBreak": "\n", "HardBreak": "<br>", "Rule": "<hr>"}


def as_html(markdown: str) -> str:
    """The HTML of the Markdown: only tags that clients allow, only links to the web or to Matrix."""
    writer = _Writer()
    for event in pyromark.events(markdown, options=_OPTIONS):
        kind, value = next(iter(event.items())) if isinstance(event, dict) else (event, None)
        writer.write(kind, value)
    return "".join(writer.written).strip()


class _Writer:
    """Writes one event after the other; `_ends` are the tags that the open elements end with."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self._ends: list[str] = []
        self._cell = "td"
        self._starts: Mapping[str, Callable[[Any], tuple[str, str]]] = {
            "Heading": lambda data: _element(f"h{data['level'][1:]}"),
            "CodeBlock": _code_block,
            "List": lambda first: _element("ul") if first is None else (f'<ol start="{first}">', "</ol>"),
            "Link": _link,
            "Image": _link,
            "Table": lambda _: ("<table>", "</tbody></table>"),
            "TableHead": self._table_head,
            "TableCell": lambda _: _element(self._cell),
        }

    def write(self, kind: str, value: Any) -> None:
        if kind == "Start":
            name, data = next(iter(value.items())) if isinstance(value, dict) else (value, None)
            start, end = self._starts[name](data) if name in self._starts else _element(_PLAIN.get(name, ""))
            self.written.append(start)
            self._ends.append(end)
        elif kind == "End":
            self.written.append(self._ends.pop())
            self._cell = "td"  # a head ends before the cells of the body begin
            if self.written[-1] == "</th>":
                self._cell = "th"
        elif kind == "TaskListMarker":
            self.written.append("☑ " if value else "☐ ")
        elif kind == "Code":
            self.written.append(f"<code>{html.escape(value)}</code>")
        elif kind in _LITERAL:
            self.written.append(_LITERAL[kind])
        else:
            self.written.append(html.escape(str(value or ""), quote=False))

    def _table_head(self, _: Any) -> tuple[str, str]:
        self._cell = "th"
        return "<thead><tr>", "</tr></thead><tbody>"


def _element(tag: str) -> tuple[str, str]:
    return (f"<{tag}>", f"</{tag}>") if tag else ("", "")


def _code_block(kind: Any) -> tuple[str, str]:
    language = html.escape(str(kind["Fenced"]).split(" ")[0]) if isinstance(kind, dict) and kind.get("Fenced") else ""
    return f'<pre><code class="language-{language}">' if language else "<pre><code>", "</code></pre>"


def _link(data: Any) -> tuple[str, str]:
    """An image is a link to it: clients load only images that the homeserver holds."""
    target = str(data["dest_url"])
    if not target.lower().startswith(_SCHEMES):
        return "", f" ({html.escape(target)})" if target else ""
    return f'<a href="{html.escape(target)}">', "</a>"
