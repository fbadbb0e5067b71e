"""The picture in the README: a film of three frames is drawn as it should be, and the stored one is sound."""

import re
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from docs.recording import story
from docs.recording.draw import draw, intervals
from docs.recording.film import Bubble, Chat, Frame
from docs.recording.play import Shot, named

DOCS = Path(__file__).resolve().parents[2] / "docs"
PICTURES = ("handoff", "inside-claude-code", "inside-codex")
TYPED = "if a < b && c: </text><script>"


def frame(ms: int, *texts: str, chat: Chat = Chat()) -> Frame:  # noqa: B008  # immutable
    return Frame(Shot(ms, tuple(((0, text, "f-green", ""),) for text in texts), (0, 0)), "desk", chat)


FILM = [
    frame(500, "one"),
    frame(250, "one", TYPED),
    frame(250, "two", chat=Chat("T", (Bubble("hi & bye", buttons=("Yes", "No"), pressed="Yes"),), lives="chat")),
]


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


@pytest.mark.parametrize("name", PICTURES)
def test_a_stored_picture_is_small_and_loads_nothing(name: str) -> None:
    text = (DOCS / f"{name}.svg").read_text("utf-8")
    fromstring(text)  # noqa: S314  # our own text
    assert len(text) < 300 * 1024
    assert not re.search(r"/tmp/|/home/|/root/|127\.0\.0", text)  # noqa: S108  # nothing of the machine that drew it
    assert not re.search(r"<script|href|@import|url\(|\son\w+=", text)


def test_a_button_is_drawn_and_the_pressed_one_stands_out() -> None:
    drawn = draw(FILM)
    assert {"Yes", "No"} <= {element.text for element in fromstring(drawn).iter()}  # noqa: S314  # our own text
    assert drawn.count('class="pressed"') == drawn.count('class="button"') == 1


def test_the_stored_picture_shows_a_choice_and_a_tool_that_was_approved_in_the_chat() -> None:
    texts = " ".join(element.text or "" for element in fromstring((DOCS / "handoff.svg").read_text("utf-8")).iter())  # noqa: S314  # see above
    assert "The agent asks" in texts
    assert story.COMMAND in texts
    assert story.CHOICE in texts
    assert {f"{at} {name}" for at, name in enumerate(story.PLACES, start=1)} <= set(re.findall(r"\d \w+", texts))
    assert f"✓ {story.PLACES[0]}" in texts
    assert "✓ Yes" in texts
    assert "claude --resume" in texts


@pytest.mark.parametrize(
    ("colour", "name"),
    [("d77757", "red"), ("ffc107", "brown"), ("ffffff", "default"), ("808080", "brightblack"), ("green", "green")],
)
def test_exact_colours_become_those_of_the_palette(colour: str, name: str) -> None:
    assert named(colour) == name
    assert named("373737", is_back=True) == "black"
