"""Markdown as WhatsApp shows it."""

import pytest

from shared.platforms.whatsapp.render import for_whatsapp


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("a **bold** word", "a *bold* word"),
        ("an *italic* word, 2 * 3 * 4", "an _italic_ word, 2 * 3 * 4"),
        ("~~gone~~", "~gone~"),
        ("## Heading ##", "*Heading*"),
        ("# **Bold** heading", "*Bold heading*"),
        ("#hash and #", "#hash and #"),
        ("[docs](https://e.org/a)", "docs (https://e.org/a)"),
        ("[https://e.org](https://e.org)", "https://e.org"),
        ("[odd](javascript:x)", "[odd](javascript:x)"),
        ("`**code**` and **bold**", "`**code**` and *bold*"),
        ("- one\n* two", "- one\n* two"),
        ("```py\n**x** = 1\n```", "```\n**x** = 1\n```"),
        ("~~~~\n```\n~~~~", "```\n```\n```"),
        ("```js a title\nx\n```", "```\njs a title\nx\n```"),
        ("snake_case_name and **", "snake_case_name and **"),
    ],
)
def test_markup_is_that_of_whatsapp(markdown: str, shown: str) -> None:
    assert for_whatsapp(markdown) == shown
