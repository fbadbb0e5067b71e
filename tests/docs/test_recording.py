"""The picture in the README: a film of three frames is drawn as it should be, and the stored one is sound."""

import re
from pathlib import Path
from xml.etree.ElementTree import fromstring

from docs.recording.draw import draw, intervals
from docs.recording.film import Chat, Frame
from docs.recording.play import Shot

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "handoff.svg"
TYPED = "if a < b && c: </text><script>"


def frame(ms: int, *texts: str, chat: Chat = Chat()) -> Frame:  # noqa: B008  # immutable
    return Frame(Shot(ms, tuple(((0, text, "f-green", ""),) for text in texts), (0, 0)), "desk", chat)


FILM = [frame(500, "one"), frame(250, "one", TYPED), frame(250, "two", chat=Chat("T", ("hi & bye",), lives="chat"))]


def seen(text: str) -> list[tuple[int, int]]:
    return [(start, end) for start, end, fragment in intervals(FILM) if f">{text}<" in fragment]


def test_each_line_is_visible_while_its_frames_last() -> None:
    assert (seen("one"), seen("two"), seen("desk")) == ([(0, 750)], [(750, 1000)], [(0, 1000)])
    assert "75.000%{visibility:visible}" in draw(FILM)


def test_typed_text_stays_text() -> None:
    texts = [element.text for element in fromstring(draw(FILM)).iter()]  # noqa: S314  # our own text
    assert {TYPED, "hi & bye"} <= set(texts)


def test_without_animation_the_chat_is_shown() -> None:
    still = re.findall(r'<g class="k\d+ still">(.*)</g>', draw(FILM))
    assert any("hi &amp; bye" in fragment for fragment in still)
    assert not any("one" in fragment for fragment in still)


def test_the_stored_picture_is_small_and_loads_nothing() -> None:
    text = PICTURE.read_text("utf-8")
    fromstring(text)  # noqa: S314  # our own text
    assert len(text) < 300 * 1024
    assert not re.search(r"<script|href|@import|url\(|\son\w+=", text)
