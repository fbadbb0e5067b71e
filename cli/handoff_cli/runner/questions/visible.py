"""Text with every hidden character as a visible mark; the marks can be undone exactly.

| in the text | shown as |
| --- | --- |
| a newline | `↵` and a newline; a newline without the mark is layout, and means nothing |
| a tab | `⇥` |
| a hidden character, n times the same | `⟦U+202E⟧`, `⟦U+202E×n⟧` |
| nothing | `⟦⟧`, where a name is needed |

The marks themselves, long runs of blanks, blanks at an end and three backticks in a row are shown as hidden characters are.
"""

import unicodedata
from itertools import groupby

NEWLINE, TAB, ENTRY, OPEN, CLOSE = "↵", "⇥", "▸", "⟦", "⟧"
_MARKS = frozenset(NEWLINE + TAB + ENTRY + OPEN + CLOSE)
_MOST_BLANKS = 40
_FENCE = 3
# Drawn as nothing or as a blank, although Unicode counts them as letters, marks or symbols.
_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\ufffc\U00013441\U00013442\U0001d159"
)


def visible(text: str, *, also: str = "") -> str:
    """The text with marks for what cannot be seen, and for the characters of `also`."""
    runs = [(character, sum(1 for _ in run)) for character, run in groupby(text)]
    shown, before = list[str](), ""
    for at, (character, count) in enumerate(runs):
        is_edge = at in (0, len(runs) - 1)
        if character == "\n":
            shown.append(f"{NEWLINE}\n" * count)
        elif character == "\t":
            shown.append(TAB * count)
        elif character in also or _is_hidden(character, count, before, is_edge=is_edge):
            shown.append(_escape(character, count))
        else:
            shown.append(character * count)
        before = character
    return "".join(shown)


def visible_in_markdown(text: str) -> str:
    """Markdown with marks for characters that nobody sees. Its layout and emoji stay, and the marks cannot be undone."""
    return "".join(_escape(character, 1) if _is_unseen(character) else character for character in text)


def _is_unseen(character: str) -> bool:
    if character.isascii():
        return not character.isprintable() and character not in "\n\t"
    kind = unicodedata.category(character)
    is_emoji = character == "\ufe0f"
    return kind[0] == "C" or kind in {"Zl", "Zp"} or character in _BLANK or (_is_selector(character) and not is_emoji)


def _escape(character: str, count: int) -> str:
    return f"{OPEN}U+{ord(character):04X}{'' if count == 1 else f'×{count}'}{CLOSE}"


def _is_hidden(character: str, count: int, before: str, *, is_edge: bool) -> bool:
    if character == " ":
        return is_edge or count > _MOST_BLANKS
    if character == "`":
        return count >= _FENCE
    if character.isascii():
        return not character.isprintable()
    kind = unicodedata.category(character)
    if kind[0] == "M":
        # One mark on a letter is an accent; others draw over their neighbours, or choose a variant that looks the same.
        is_foreign = before.isascii() and not "\u0300" <= character <= "\u036f"  # some join letters, and draw nothing
        return count > 1 or not before.isalpha() or is_foreign or character in _BLANK or _is_selector(character)
    return kind[0] in "CZ" or character in _MARKS or character in _BLANK


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
