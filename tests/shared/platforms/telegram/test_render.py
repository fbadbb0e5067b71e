"""Markdown as Telegram's text with entities: nothing is dropped, all limits are kept."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from aiogram.types import MessageEntity
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.platforms.markdown.split import utf16
from shared.platforms.telegram.render import MOST_ENTITIES, render
from tests.shared.platforms.markdown.documents import documents, rubbish

quick = settings(max_examples=80, deadline=None, derandomize=True, database=None)
LIMIT = 4096


def marked(markdown: str) -> tuple[str, set[tuple[str, str]]]:
    """The text with each entity's stretch in brackets behind its kind."""
    [part] = render(markdown, LIMIT)
    units = part.text.encode("utf-16-le")

    def stretch(entity: Mapping[str, Any]) -> str:
        return units[2 * entity["offset"] : 2 * (entity["offset"] + entity["length"])].decode("utf-16-le")

    return part.text, {(entity["type"], stretch(entity)) for entity in part.extra.get("entities", ())}


@pytest.mark.parametrize(
    ("markdown", "text", "entities"),
    [
        ("a **b** _c_ ~~d~~ `e`", "a b c d e", {("bold", "b"), ("italic", "c"), ("strikethrough", "d"), ("code", "e")}),
        ("# Head\n\ntext", "Head\n\ntext", {("bold", "Head"), ("underline", "Head")}),
        ("👩‍👩‍👧 **x**", "👩‍👩‍👧 x", {("bold", "x")}),
        ("```py\nx < 1\n```", "x < 1", {("pre", "x < 1")}),
        ("> said", "said", {("blockquote", "said")}),
        ("> one\n> > two", "one\ntwo", {("blockquote", "one\ntwo")}),
        ("- a\n- [ ] b\n- [x] c", "• a\n☐ b\n✅ c", set()),
        ("[docs](https://e.org/a)", "docs", {("text_link", "docs")}),
    ],
)
def test_markdown_becomes_entities(markdown: str, text: str, entities: set[tuple[str, str]]) -> None:
    assert marked(markdown) == (text, entities)


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("use <b>bold</b> and vector<int>", "use <b>bold</b> and vector<int>"),
        ("<div>\nhi\n</div>\n\npara", "<div>\nhi\n</div>\n\npara"),
        ("<div>\n```py\nif a <b> c:\n```\n</div>", "<div>\nif a <b> c:\n</div>"),
        ("<!-- a note -->", "<!-- a note -->"),
        ("`<tag>` stays", "<tag> stays"),
        ("echo $HOME/$PATH costs $5 or $x$", "echo $HOME/$PATH costs $5 or $x$"),
        ("if a || b || c", "if a || b || c"),
        ("see [main](src/_main_.py)", "see main (src/_main_.py)"),
        ("see [src/a.py](src/a.py)", "see src/a.py"),
        ("mail <me@e.org>", "mail me@e.org"),
        ("![](https://e.org/i.png)", "image"),
        ("a note[^1]\n\n[^1]: explained", "a note^1 (explained)\n\n[^1]: explained"),
        ("[unused]: https://e.org\n\ntext", "[unused]: https://e.org\n\ntext"),
        ("| a |\n|---|\n| [x](https://e.org) |", "a\n-----------------\nx (https://e.org)"),
        ("```\n```", "```\n```"),
        ("sed 's/\\(a\\)/\\1/' in `\\(\\alpha + 1\\)`", "sed 's/(a)/\\1/' in \\(\\alpha + 1\\)"),
    ],
)
def test_text_that_the_converter_would_drop_is_kept(markdown: str, text: str) -> None:
    shown = "\n".join(line.rstrip() for line in marked(markdown)[0].splitlines())

    assert shown == text


def test_names_are_neutralised_except_in_code() -> None:
    text, _ = marked("ask @olivia_b about `@property`, not a@b.org or https://e.org/@user")

    assert text == "ask @\u2060olivia_b about @property, not a@b.org or https://e.org/@user"


def test_a_language_is_one_word() -> None:
    [part] = render('```python title="x"\ncode\n```', LIMIT)

    assert part.extra["entities"] == [{"type": "pre", "offset": 0, "length": 4, "language": "python"}]


def test_cut_code_stays_code_on_both_sides() -> None:
    lines = [f"line_{n} = {n}" for n in range(600)]
    parts = render("before\n\n```python\n" + "\n".join(lines) + "\n```\n\nafter", LIMIT)

    assert len(parts) > 2
    assert all(any(e["type"] == "pre" and e["language"] == "python" for e in part.extra["entities"]) for part in parts)
    assert [line for part in parts for line in part.text.splitlines() if line.startswith("line_")] == lines


def test_no_part_has_more_entities_than_allowed() -> None:
    parts = render(" ".join(f"**b{n}**" for n in range(350)), LIMIT)

    assert all(len(part.extra["entities"]) <= MOST_ENTITIES for part in parts)
    assert " ".join(part.text for part in parts).split() == [f"b{n}" for n in range(350)]


def test_a_page_of_raw_html_is_complete_and_fast() -> None:
    html = "<p>x <b>y</b>\n" * 1500

    assert "".join(part.text for part in render(html, LIMIT)).replace("\n", "") == html.replace("\n", "")


@quick
@given(st.one_of(documents, rubbish))
def test_entities_are_inside_their_text_and_valid_for_aiogram(markdown: str) -> None:
    for part in render(markdown, LIMIT):
        assert utf16(part.text) <= LIMIT
        assert part.text == part.text.rstrip()
        for entity in part.extra.get("entities", ()):
            assert MessageEntity(**entity).length > 0
            assert 0 <= entity["offset"] < entity["offset"] + entity["length"] <= utf16(part.text)


@quick
@given(documents)
def test_every_word_of_the_reply_arrives_in_order(markdown: str) -> None:
    sent = re.findall(r"\w+", "\n".join(part.text for part in render(markdown, LIMIT)))
    wanted = [word for word in re.findall(r"\w+", markdown) if word not in ("python", "md", "js", "title")]
    rest = iter(sent)

    assert all(word in rest for word in wanted if not word.isdigit() and word != "x")
