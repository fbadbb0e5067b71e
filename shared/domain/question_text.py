"""The text of a question: cut into messages, and safe from Markdown in it."""

import re
from collections.abc import Callable, Iterator

_EXCERPT = 200
_MARK = re.compile(r"⟦[^⟦⟧]{0,20}$")
_MAY_HIDE = re.compile(
    r"^[ \t>*+.\d-]*\[[^\]]+\]:"  # the target of a link, a footnote
    r"|<[A-Za-z!/?]|&[#\w]+;|!\[|\]\([^)\n]*[ \t\n][\"'(]"  # HTML, a picture, the title of a link
    r"|(?:```|~~~)[^\s`]*[ \t]+\S|-:?[ \t]*\||\|[ \t]*:?-",  # words after the language of code, a table with more cells
    re.MULTILINE,
)


def as_line(text: str) -> str:
    """A text in one line, with a sign for what cannot be printed."""
    return "".join(character if character.isprintable() else "�" for character in " ".join(text.split()))


def excerpt(text: str) -> str:
    """The beginning of a text that a line can hold."""
    return text if len(text) <= _EXCERPT else f"{text[: _EXCERPT - 1]}…"


def may_hide(markdown: str) -> bool:
    """Whether Markdown has something of which chat platforms may show less than is written."""
    return _MAY_HIDE.search(markdown) is not None


def as_code(text: str) -> str:
    """A short text as inline code: Markdown in it means nothing."""
    line = as_line(text).replace("`", "ˋ")
    return f"`{line}`" if line else ""


def as_plain(text: str) -> str:
    """A text in which Markdown means nothing, as it is shown."""
    return re.sub(r"([\\`*_~\[\]<>#|])", r"\\\1", text)


def code_block(text: str) -> str:
    """A code block that its content cannot end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def pieces(text: str, room: int, length: Callable[[str], int]) -> Iterator[str]:
    """The text cut between lines where that is possible. A runner marks its newlines, so that these cuts change nothing."""
    piece = ""
    for line in text.split("\n"):
        joined = f"{piece}\n{line}" if piece else line
        if length(joined) <= room:
            piece = joined
            continue
        if piece:
            yield piece
        *whole, piece = _cut(line, room, length)
        yield from whole
    if piece:
        yield piece


def _cut(line: str, room: int, length: Callable[[str], int]) -> Iterator[str]:
    """Pieces of a long line: none ends with a blank, which a platform would remove, or inside a mark of the runner."""
    start = 0
    while length(line[start:]) > room:
        end = start + room
        while length(line[start:end]) > room:
            end -= max(1, (length(line[start:end]) - room) // 4)
        least = end - room // 4
        while end > least and (line[end - 1] == " " or _MARK.search(line, start, end)):
            end -= 1
        yield line[start:end]
        start = end
    yield line[start:]
