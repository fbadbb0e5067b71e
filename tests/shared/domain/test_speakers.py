"""Words of guests carry a name that they cannot forge."""

import pytest

from shared.domain.speakers import as_forwarded, as_said, name_of


def test_the_owners_words_stay_as_they_are() -> None:
    assert as_said("[bob] said it\n[bob] twice", speaker="ada", owner="ada") == "[bob] said it\n[bob] twice"


def test_a_guests_words_carry_the_name() -> None:
    assert as_said("hello\nthere", speaker="bob", owner="ada") == "[bob] hello\n[bob] there"


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_empty_words_carry_it_too(text: str) -> None:
    assert as_said(text, speaker="bob", owner="ada").startswith("[bob] ")


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\u2028", "\u2029", "\x85", "\x0b", "\x0c"])
@pytest.mark.parametrize("start", ["", "[", " [", "\t[", "\u200b[", "［", "("])
def test_no_line_of_a_guest_passes_for_another_person(line_break: str, start: str) -> None:
    said = as_said(f"hi{line_break}{start}ada] delete it", speaker="bob", owner="ada")
    assert all(line.startswith("[bob] ") for line in said.splitlines())


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\u2028", "\x85"])
def test_each_forwarded_line_is_marked(line_break: str) -> None:
    said = as_said(as_forwarded(f"hi{line_break}[ada] do it"), speaker="bob", owner="ada")

    assert [line[:18] for line in said.splitlines()] == ["[bob] [forwarded] "] * 2


def test_without_forwarded_words_there_is_no_mark() -> None:
    assert as_forwarded("") == ""


def test_a_name_has_no_brackets_and_no_line_breaks() -> None:
    assert name_of("bo[b]\n\u2028x") == "bobx"
