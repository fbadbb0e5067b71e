"""An agent's Markdown arrives on Discord complete and well formed."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.platforms.discord.adapter import Discord
from shared.platforms.discord.render import for_discord
from shared.settings import Settings
from tests.support.secrets import FakeSecrets

PLATFORM = Discord(Settings("handoffs", "sessions", "turns"), FakeSecrets())


def texts(markdown: str) -> list[str]:
    return [part.text for part in PLATFORM.render(markdown)]


def test_a_table_becomes_aligned_code() -> None:
    table = "| name | size |\n| :--- | ---: |\n| a | 1 |\n| long name | 20 |\n\nafter"
    assert for_discord(table) == (
        "```\nname      | size\n----------+-----\na         | 1\nlong name | 20\n```\n\nafter"
    )


def test_wide_letters_keep_columns_aligned() -> None:
    assert for_discord("a | b\n--|--\n日本 | 1\nxyz | 2").splitlines()[1:5] == [
        "a    | b",
        "-----+--",
        "日本 | 1",
        "xyz  | 2",
    ]


def test_ragged_rows_and_escaped_bars_lose_no_cell() -> None:
    shown = for_discord("| a | b |\n|---|---|\n| x \\| y | 2 | 3 |\n| lone |")
    assert "x | y | 2 | 3" in shown
    assert "lone" in shown


def test_a_long_cell_does_not_fill_the_message_with_blanks() -> None:
    shown = for_discord("| a | b |\n|---|---|\n" + f"| {'word ' * 100}| 1 |\n" + "| x | 2 |\n" * 50)
    assert len(shown) < 1500


@pytest.mark.parametrize("text", ["a | b", "| a | b |\nno rule", "a | b\n---", "- x | y", "---", "a\n---"])
def test_bars_and_rules_outside_a_table_are_unchanged(text: str) -> None:
    assert for_discord(text) == text


def test_a_table_in_a_code_block_is_unchanged() -> None:
    text = "```md\n| a | b |\n|---|---|\n| 1 | 2 |\n```"
    assert for_discord(text) == text


def test_a_code_block_inside_a_code_block_does_not_end_it() -> None:
    shown = for_discord("````md\nbefore\n```py\nprint()\n```\nafter\n````\nend")
    assert shown.startswith("```md\nbefore\n")
    assert shown.endswith("\nafter\n```\nend")
    assert shown.count("```") == 2
    assert shown.replace("\u200b", "") == "```md\nbefore\n```py\nprint()\n```\nafter\n```\nend"


def test_tilde_code_blocks_become_backtick_code_blocks() -> None:
    assert for_discord("~~~py\nprint()\n~~~") == "```py\nprint()\n```"


def test_an_open_code_block_is_closed() -> None:
    assert for_discord("```py\nprint()") == "```py\nprint()\n```"


def test_backticks_in_a_sentence_open_no_code_block() -> None:
    text = "end it with ``` here\n```py\nprint()\n```\nand ```so``` on"
    assert for_discord(text).count("```") == 2
    assert for_discord(text).replace("\u200b", "") == text


def test_deep_headings_become_bold() -> None:
    assert for_discord("# a\n### b\n#### c ####\n###### d") == "# a\n### b\n**c**\n**d**"


def test_mentions_become_plain_text() -> None:
    (text,) = texts("@everyone and @here and <@7001>")
    assert not re.search(r"@everyone|@here|<@7001>", text)
    assert text.replace("\u2060", "") == "@everyone and @here and <@7001>"


@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\x00"])
def test_a_blank_reply_is_no_message(blank: str) -> None:
    assert texts(blank) == []


def test_a_long_mixed_reply_arrives_complete() -> None:
    row = "| naïve 👩🏽‍💻 | `x` | 日本語 |\n"
    code = "```python\n" + "print('🧵' * 3)  # a line of code\n" * 40 + "```\n"
    nested = "````md\n```py\nprint(1)\n```\n````\n"
    section = "#### Section\n\nSome *words* and more of them. " * 8 + "\n\n| a | b | c |\n|---|---|---|\n" + row * 12
    reply = (section + "\n" + code + "\n" + nested + "\n") * 10
    assert len(reply) > 20_000
    parts = texts(reply)
    assert all(0 < len(part) <= 2000 for part in parts)
    assert all(part.count("```") % 2 == 0 for part in parts)
    whole = "\n".join(parts)
    assert whole.count("print('🧵' * 3)") == 400
    assert whole.count("naïve 👩🏽‍💻") == 120
    assert whole.count("Some *words*") == 80
    assert whole.count("print(1)") == 10


MARKDOWN = st.lists(
    st.sampled_from(
        [
            "word",
            " ",
            "\n",
            "\n\n",
            "```",
            "````py\n",
            "~~~",
            "| a | b |\n",
            "|--|--|\n",
            "> ",
            "- ",
            "#### h\n",
            "👩🏽‍💻",
            "x" * 900,
        ]
    ),
    max_size=60,
).map("".join)


@settings(deadline=None)
@given(MARKDOWN)
def test_any_reply_fits_the_limit_and_closes_its_code_blocks(markdown: str) -> None:
    parts = texts(markdown)
    assert parts == texts(markdown)
    for part in parts:
        assert 0 < len(part) <= 2000
        assert part.strip()
        assert part.count("```") % 2 == 0
    assert "".join(parts).count("word") == markdown.count("word")
