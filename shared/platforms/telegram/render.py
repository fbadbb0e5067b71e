"""Renders an agent's Markdown as Telegram's text with entities, in parts within its limits."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, islice, pairwise
from typing import Any

from telegramify_markdown import RenderConfig, convert

from shared.platforms.markdown.blocks import Block, Line
from shared.platforms.markdown.clean import clean
from shared.platforms.markdown.code_blocks import well_formed
from shared.platforms.markdown.cuts import next_cut
from shared.platforms.markdown.split import utf16
from shared.platforms.telegram.markdown import plain
from shared.ports.platforms import Part

MOST_ENTITIES = 100  # Telegram ignores those beyond
_LONGEST_OPENING = 1000
_FIRST_OF_TWO_UNITS = "\U00010000"
_QUOTES = ("blockquote", "expandable_blockquote")


@dataclass(frozen=True)
class Entity:
    """The format of a range of text, in characters; only Part holds Telegram's UTF-16 units."""

    kind: str
    start: int
    end: int
    more: tuple[tuple[str, str], ...] = ()


def render(markdown: str, limit: int) -> list[Part]:
    """The parts in order, none over `limit` UTF-16 units; no parts for a blank text."""
    text, entities = _converted(well_formed(clean(markdown), _LONGEST_OPENING))
    lines = _lines(text, entities)
    parts: list[Part] = []
    start = 0
    while start < len(text):
        end = next_cut(text, start, _room(text, start, entities, limit), utf16, lines).end
        parts.extend(_part(text, start, end, entities))
        start = end
    return parts


def _converted(markdown: str) -> tuple[str, list[Entity]]:
    prepared = plain(markdown)
    if prepared is None:
        return markdown, []
    text, found = convert(prepared, latex_escape=False, config=_style())
    if not text.strip():
        return markdown, []  # only markup: show it as it was written
    positions = _positions(text)
    entities = [
        Entity(
            entity.type,
            bisect_left(positions, entity.offset),
            bisect_left(positions, entity.offset + entity.length),
            _more(entity),
        )
        for entity in found
    ]
    return text, list(_flat(sorted(entities, key=lambda entity: (entity.start, -entity.end))))


def _positions(text: str) -> Sequence[int]:
    """Where each character begins, in UTF-16 units, and where the last one ends."""
    if max(text) < _FIRST_OF_TWO_UNITS:
        return range(len(text) + 1)
    return list(accumulate((utf16(character) for character in text), initial=0))


def _more(entity: Any) -> tuple[tuple[str, str], ...]:
    language = (entity.language or "").split(" ")[0]
    given = {"url": entity.url, "language": language}
    return tuple((name, value) for name, value in given.items() if value)


def _flat(entities: Sequence[Entity]) -> Iterator[Entity]:
    """Sorted entities without quotes in quotes, which Telegram does not support."""
    quoted_to = 0
    for entity in entities:
        if entity.kind not in _QUOTES:
            yield entity
        elif entity.start >= quoted_to:
            quoted_to = entity.end
            yield entity


def _lines(text: str, entities: Sequence[Entity]) -> list[Line]:
    """The lines of the text; preformatted ranges are blocks, which are cut only if necessary."""
    blocks = [(entity.start, entity.end, Block()) for entity in entities if entity.kind == "pre"]
    firsts = [start for start, _, _ in blocks]

    def block_at(position: int) -> Block | None:
        at = bisect_left(firsts, position) - 1
        return blocks[at][2] if at >= 0 and position < blocks[at][1] else None

    starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n"), len(text)]
    return [
        Line(start, end, text[start:end], block_at(start), block_at(end))
        for start, end in pairwise(starts)
        if start < end
    ]


def _room(text: str, start: int, entities: Sequence[Entity], limit: int) -> int:
    """How long a part from `start` may be, so that it has at most MOST_ENTITIES entities."""
    ahead = list(islice((entity for entity in entities if entity.end > start), MOST_ENTITIES + 1))
    if len(ahead) <= MOST_ENTITIES or ahead[-1].start >= start + limit:
        return limit
    return min(limit, max(1, utf16(text[start : ahead[-1].start])))


def _part(text: str, start: int, end: int, entities: Sequence[Entity]) -> Iterator[Part]:
    """The part for a range, if it is not blank: without white space around it, unless that is code."""
    inside = [
        replace(e, start=max(e.start, start), end=min(e.end, end)) for e in entities if e.start < end > start < e.end
    ]
    first_entity = min((entity.start for entity in inside), default=end)
    while start < first_entity and text[start].isspace():
        start += 1
    sent = text[start:end].rstrip()
    if not sent.strip():
        return
    end = start + len(sent)
    shown = [replace(entity, end=min(entity.end, end)) for entity in inside if entity.start < end]
    yield Part(sent, {"entities": [_as_telegram(entity, text, start) for entity in shown]} if shown else {})


def _as_telegram(entity: Entity, text: str, start: int) -> dict[str, Any]:
    offset, length = utf16(text[start : entity.start]), utf16(text[entity.start : entity.end])
    return {"type": entity.kind, "offset": offset, "length": length, **dict(entity.more)}


@cache
def _style() -> RenderConfig:
    style = RenderConfig.isolated()
    style.cite_expandable = False
    symbols = style.markdown_symbol
    for level in range(1, 7):
        setattr(symbols, f"heading_level_{level}", "")
    symbols.unordered_list_item, symbols.task_uncompleted = "•", "☐"
    return style
