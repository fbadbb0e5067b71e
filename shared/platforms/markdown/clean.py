"""Makes texts safe to post: valid characters, no accidental mentions, titles of limited length."""

import re
from collections.abc import Callable

from shared.domain.messages import whole
from shared.platforms.markdown.cuts import splits_letter

# A word joiner: invisible, and it makes a platform read a mention as plain text.
_INVISIBLE = "\u2060"
_MENTIONS = re.compile(
    r"<(?=@[A-Z0-9&!]|!(?:here|channel|everyone|group|subteam))|(?<![\w.])@(?=(?:everyone|here|channel)\b)"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Bidirectional overrides: in a title that is cut they would stay open. Right-to-left letters do not need them.
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """The text as valid Unicode with plain line ends: surrogates joined or replaced, control characters removed."""
    return _CONTROLS.sub("", re.sub(r"\r\n?", "\n", whole(text)))


def neutralise(text: str) -> str:
    """The text with `@everyone`, `<!here>`, `<@U1>` and similar mentions as plain text; it looks the same."""
    return _MENTIONS.sub(lambda match: match[0] + _INVISIBLE, text)


def title(text: str, limit: int, measure: Callable[[str], int] = len) -> str:
    """One line of at most `limit`, with an ellipsis if cut; never empty, without mentions."""
    line = " ".join(neutralise(clean(_BIDI.sub("", text))).split()) or "Session"
    if measure(line) <= limit:
        return line
    end = min(len(line), limit)
    while end > 1 and (measure(line[:end]) >= limit or splits_letter(line, end)):
        end -= 1
    return line[:end].rstrip() + "…"
