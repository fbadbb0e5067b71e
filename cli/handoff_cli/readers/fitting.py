"""Cut messages that exceed the size limit, with a mark where text is missing."""

from collections.abc import Iterable

from handoff_cli.transcripts.messages import MESSAGE_LIMIT, Message, canonical

_ROOM = 4096
_MARK = "\n[… cut here: the whole text did not fit into one message]"


def fit(messages: Iterable[Message]) -> tuple[list[Message], int]:
    """The messages, each within the limit, and the number of cut ones."""
    fitted, cut = [], 0
    for message in messages:
        short = message if len(canonical(message)) <= MESSAGE_LIMIT else _cut(message)
        cut += short is not message
        fitted.append(short)
    return fitted, cut


def _cut(message: Message) -> Message:
    short = dict(message)
    for key in ("content", "tool_calls"):
        if len(canonical(short)) <= MESSAGE_LIMIT or short.get(key) is None:
            continue
        whole = len(canonical({"": short[key]}))
        rest = len(canonical(short)) - whole
        room = max(0, MESSAGE_LIMIT - _ROOM - rest)
        short[key] = _cut_text(short[key], room) if isinstance(short[key], str) else _cut_parts(short[key], room)
    return short


def _cut_text(text: str, room: int) -> str:
    """As many characters as fit when encoded: JSON may need several bytes per character."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(canonical({"": text[:middle]})) <= room else (low, middle - 1)
    return text[:low] + _MARK


def _cut_parts(value: object, room: int) -> object:
    """Cut every long string inside parts or tool calls to an equal share of the room."""
    strings = _count_strings(value)
    share = max(64, room // max(1, strings))
    return _map_strings(value, share)


def _count_strings(value: object) -> int:
    if isinstance(value, dict):
        return sum(map(_count_strings, value.values()))
    if isinstance(value, list):
        return sum(map(_count_strings, value))
    return isinstance(value, str)


def _map_strings(value: object, share: int) -> object:
    if isinstance(value, dict):
        return {key: _map_strings(item, share) for key, item in value.items()}
    if isinstance(value, list):
        return [_map_strings(item, share) for item in value]
    if isinstance(value, str) and len(canonical({"": value})) > share:
        return _cut_text(value, share - len(_MARK.encode()))
    return value
