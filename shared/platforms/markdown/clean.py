"""Words made safe to post: no broken characters, nobody called by accident, titles that fit."""

import re
from collections.abc import Callable

from shared.platforms.markdown.cuts import splits_letter

# Invisible, no word boundary for the eye, and enough to make a platform read plain text.
_INVISIBLE = "\u2060"
_CALLS = re.compile(
    r"<(?=@[A-Z0-9&!]|!(?:here|channel|everyone|group|subteam))|(?<![\w.])@(?=(?:everyone|here|channel)\b)"
)
_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Orders to turn the line around, which outlive a title that is cut; letters that run from right to left need none.
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """The text as valid Unicode with plain line ends: surrogates joined or replaced, control characters gone."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _UNSEEN.sub("", re.sub(r"\r\n?", "\n", joined))


def neutralise(text: str) -> str:
    """The text with `@everyone`, `<!here>`, `<@U1>` and their like as plain words; it reads the same."""
    return _CALLS.sub(lambda match: match[0] + _INVISIBLE, text)


def title(text: str, limit: int, measure: Callable[[str], int] = len) -> str:
    """One line of at most `limit` with an ellipsis if cut, never empty, calling nobody."""
    line = " ".join(neutralise(clean(_TURNS.sub("", text))).split()) or "Session"
    if measure(line) <= limit:
        return line
    end = min(len(line), limit)
    while end > 1 and (measure(line[:end]) >= limit or splits_letter(line, end)):
        end -= 1
    return line[:end].rstrip() + "…"
