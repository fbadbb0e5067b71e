"""Texts made safe to post."""

import pytest

from shared.platforms.markdown.clean import clean, neutralise, title
from shared.platforms.markdown.split import utf16


@pytest.mark.parametrize(
    "call",
    ["<!here>", "<!channel>", "<!everyone>", "<!subteam^S1|team>", "<@U123>", "<@!55>", "<@&66>", "@everyone", "@here"],
)
def test_mentions_become_plain_text_that_looks_the_same(call: str) -> None:
    said = neutralise(f"well, {call} look")

    assert call not in said
    assert said.replace("\u2060", "") == f"well, {call} look"


@pytest.mark.parametrize("text", ["me@here.org", "<!DOCTYPE html>", "<!-- note -->", "@property", "a < b", "#general"])
def test_other_texts_are_unchanged(text: str) -> None:
    assert neutralise(text) == text


def test_neutralising_is_idempotent() -> None:
    once = neutralise("@everyone <!here>")

    assert neutralise(once) == once


def test_broken_characters_are_joined_or_replaced() -> None:
    assert clean("\ud83d\ude00 \ud83d x\r\ny\rz\x00") == "😀 \ufffd x\ny\nz"


def test_a_title_is_one_line() -> None:
    assert title("  Fix\nthe\tbuild \x07", 100) == "Fix the build"


def test_a_title_is_never_empty() -> None:
    assert title(" \n", 100) == "Session"


def test_a_long_title_is_cut_between_letters_with_an_ellipsis() -> None:
    cut = title("👩‍👩‍👧" * 60, 100, utf16)

    assert utf16(cut) <= 100
    assert cut.removesuffix("…").replace("👩‍👩‍👧", "") == ""
    assert cut.endswith("…")


def test_a_title_that_just_fits_is_not_cut() -> None:
    assert title("x" * 100, 100) == "x" * 100
    assert title("x" * 101, 100) == "x" * 99 + "…"
