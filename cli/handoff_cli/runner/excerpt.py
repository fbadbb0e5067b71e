"""Cut what tools take and give, with likely secrets masked."""

import json
from typing import Any

from handoff_cli.transcripts.likely_secrets import redact

TOOL_LIMIT = 2048
# A secret that begins within the limit is masked as a whole.
_KEPT = 4 * TOOL_LIMIT
_MARK = "\n[… cut here]"


class Excerpt:
    """The beginning of a text that may come in any number of pieces; never holds more than 8 KiB."""

    def __init__(self) -> None:
        self._text = ""
        self._more = False

    def add(self, piece: str) -> None:
        """Append a piece."""
        room = _KEPT - len(self._text)
        self._text += piece[:room]
        self._more = self._more or len(piece) > room

    def replace(self, text: str) -> None:
        """Start again with this text."""
        self._text, self._more = "", False
        self.add(text)

    def __str__(self) -> str:
        return cut(masked(self._text), TOOL_LIMIT, always=self._more)

    def __bool__(self) -> bool:
        return bool(self._text)


def masked(text: str) -> str:
    """The text without likely secrets."""
    return str(redact([{"": text}])[0][""])


def cut(text: str, limit: int, *, always: bool = False) -> str:
    """At most `limit` bytes of the text, with a mark where it was cut."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit and not always:
        return raw.decode()
    return raw[: limit - len(_MARK.encode())].decode("utf-8", "ignore") + _MARK


def arguments_of(raw: Any, title: str) -> str:
    """The arguments of a tool call, as a JSON object of at most about 2 KiB."""
    known = raw if isinstance(raw, dict) and raw else {"title": title}
    text = masked(json.dumps(known, ensure_ascii=False, default=str)[:_KEPT])
    if len(text.encode("utf-8", "replace")) <= TOOL_LIMIT and _is_json(text):
        return text
    return json.dumps({"title": cut(masked(title), 200), "arguments": cut(text, TOOL_LIMIT // 2)}, ensure_ascii=False)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
