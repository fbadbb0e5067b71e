"""Pairing codes: their form, and how people type them."""

import pytest

from shared.domain.links import ALPHABET, LENGTH, code_in_command, code_in_words, new_code, shown


def test_codes_are_random_and_without_look_alikes() -> None:
    codes = {new_code() for _ in range(200)}
    assert len(codes) == 200
    assert {len(code) for code in codes} == {LENGTH}
    assert not set("01ILOU") & set(ALPHABET)
    assert len(ALPHABET) ** LENGTH > 2**39


@pytest.mark.parametrize("text", ["/link ABCD-EFGH", "/link abcdefgh", "/LINK abcd efgh ", "/start ABCDEFGH"])
def test_a_command_holds_a_code(text: str) -> None:
    assert code_in_command(text) == "ABCDEFGH"


@pytest.mark.parametrize("text", ["ABCD-EFGH", "abcdefgh", " link ABCD EFGH", "Link abcd-efgh\n"])
def test_words_may_be_nothing_but_a_code(text: str) -> None:
    assert code_in_words(text) == "ABCDEFGH"
    assert code_in_command(text) is None


@pytest.mark.parametrize(
    "text", ["", "/link", "/start", "/link ABCD", "/link ABCDEFGHJ", "/link ABCD-EFG0", "hello you"]
)
def test_other_texts_hold_no_code(text: str) -> None:
    assert code_in_command(text) is None
    assert code_in_words(text) is None


def test_in_a_group_words_are_seldom_a_code() -> None:
    assert code_in_words("link ABCD-EFGH", is_private=False) == "ABCDEFGH"
    assert code_in_words("whatever", is_private=False) is None


def test_what_is_shown_can_be_typed() -> None:
    code = new_code()
    assert code_in_words(shown(code)) == code
