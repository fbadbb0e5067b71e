"""The splitter: nothing lost, nothing over the limit, no code block left open."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.platforms.markdown.code_blocks import well_formed
from shared.platforms.markdown.split import SMALLEST_LIMIT, pieces, split, utf16
from tests.shared.platforms.markdown.documents import code_in, documents, leaves_code_open, rubbish

quick = settings(max_examples=120, deadline=None, derandomize=True, database=None)
limits = st.integers(SMALLEST_LIMIT, 900)
measures = st.sampled_from([len, utf16])


@quick
@given(documents, limits, measures)
def test_pieces_fit_the_limit_and_join_to_the_text(text: str, limit: int, measure: Callable[[str], int]) -> None:
    found = pieces(text, limit, measure)

    assert all(measure(piece.text) <= limit for piece in found)
    assert "".join(piece.body for piece in found) == text


@quick
@given(documents, limits)
def test_each_piece_closes_its_code_blocks_and_keeps_code_as_code(text: str, limit: int) -> None:
    parts = split(text, limit)

    assert not [part for part in parts if leaves_code_open(part)]
    assert "".join(code_in(part) for part in parts) == code_in(text)


@quick
@given(rubbish, limits, measures)
def test_pieces_of_any_text_fit_and_close_their_code_blocks(
    text: str, limit: int, measure: Callable[[str], int]
) -> None:
    found = pieces(text, limit, measure)

    assert all(measure(piece.text) <= limit for piece in found)
    assert "".join(piece.body for piece in found) == well_formed(text, limit // 8)
    assert not [piece.text for piece in found if leaves_code_open(piece.text)]


@quick
@given(rubbish)
def test_well_formed_keeps_all_words_and_is_idempotent(text: str) -> None:
    formed = well_formed(text, 1000)

    assert "".join(formed.split()).replace("`", "").replace("~", "").replace(">", "") == "".join(text.split()).replace(
        "`", ""
    ).replace("~", "").replace(">", "")
    assert well_formed(formed, 1000) == formed


@quick
@given(st.lists(st.sampled_from(["e\u0301\u0323", "👩‍👩‍👧‍👦", "👍🏽", "🇩🇪", "🏴󠁧󠁢󠁷󠁬󠁳󠁿", "각", "x"]), min_size=5, max_size=20))
def test_letters_of_several_characters_stay_whole(letters: str) -> None:
    letters = letters * 20
    text = "".join(letters)
    ends, length = set(), 0
    for letter in letters:
        length += len(letter)
        ends.add(length)
    at = 0
    for piece in pieces(text, SMALLEST_LIMIT, utf16):
        at += len(piece.body)
        assert at in ends


def test_a_short_text_is_unchanged() -> None:
    assert split("# Hi\n\nall **good**", 2000) == ["# Hi\n\nall **good**"]


@pytest.mark.parametrize("text", ["", "   ", "\n\n\n", "\r\n \t"])
def test_a_blank_text_makes_no_message(text: str) -> None:
    assert split(text, 2000) == []


def test_a_limit_too_small_for_code_blocks_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 256"):
        split("text", 100)


def test_paragraphs_are_preferred_over_lines_and_words() -> None:
    text = "one two. three\nfour\n\n" * 20

    assert all(part.endswith("four") and part.startswith("one") for part in split(text, 300))


def test_a_sentence_is_preferred_over_a_word() -> None:
    parts = split("This is a sentence of some words. " * 30, 300)

    assert all(part.endswith("words.") for part in parts)


def test_a_cut_code_block_reopens_with_its_language() -> None:
    text = "Look:\n\n```python title=x\n" + "\n".join(f"line_{n} = {n}" for n in range(60)) + "\n```\n\nDone."

    first, *middle, last = split(text, 300)

    assert first.startswith("Look:\n\n```python title=x\nline_0")
    assert all(part.startswith("```python\n") and part.endswith("\n```") for part in middle)
    assert last.startswith("```python\n")
    assert last.endswith("```\n\nDone.")


def test_shorter_code_blocks_inside_a_longer_one_are_content() -> None:
    text = "````md\n" + "```py\nprint(1)\n```\n" * 40 + "````"

    parts = split(text, 300)

    assert all(part.startswith("````md\n") and part.endswith("\n````") for part in parts)
    assert sum(part.count("print(1)") for part in parts) == 40


def test_the_rest_of_a_quoted_code_block_reopens_unquoted() -> None:
    text = "> ~~~sh\n" + "\n".join(f"> echo {n}" for n in range(60)) + "\n> ~~~\nafter"

    first, *_, last = split(text, 300)

    assert first.startswith("> ~~~sh\n> echo 0")
    assert last.startswith("~~~sh\necho ")
    assert last.endswith("\n~~~\nafter")


def test_a_code_block_in_a_list_reopens_without_indentation() -> None:
    text = "1. step\n\n     ```js\n" + "\n".join(f"     let a{n}" for n in range(60)) + "\n     ```\n2. next"

    _, second, *_ = split(text, 300)

    assert second.startswith("```js\nlet a")


def test_the_head_of_a_table_is_repeated() -> None:
    head = "| name | size |\n| --- | ---: |"
    text = head + "\n" + "\n".join(f"| file{n} | {n} |" for n in range(60)) + "\n\nDone."

    parts = split(text, 300)

    assert len(parts) > 2
    assert all(part.startswith(head + "\n| file") for part in parts)


def test_an_unclosed_code_block_is_closed() -> None:
    assert split("```py\nx = 1", 2000) == ["```py\nx = 1\n```"]


def test_a_quote_that_ends_inside_its_code_block_ends_the_code_block() -> None:
    assert split("> ```py\n> x\nafter", 2000) == ["> ```py\n> x\n> ```\nafter"]


def test_unindented_code_in_a_list_stays_in_its_code_block() -> None:
    text = "- do this:\n  ```py\ndef f():\n    return 1\n```\n- and that"

    assert split(text, 2000) == ["- do this:\n  ```py\n  def f():\n      return 1\n  ```\n- and that"]


def test_no_cut_turns_text_into_a_code_block() -> None:
    text = "word " * 100 + "```` not a code block " + "word " * 100

    assert not [part for part in split(text, 300) if leaves_code_open(part)]


@pytest.mark.parametrize(
    "line", ["```" + "i" * 3000, "`" * 3000, "~" * 3000 + "x", "> " * 400 + "```", " " * 3000 + "```"]
)
def test_a_very_long_code_block_line_fits(line: str) -> None:
    parts = split(f"{line}\ncode\n{line}\nafter", 2000)

    assert all(len(part) <= 2000 for part in parts)
    assert "after" in parts[-1]


def test_twenty_thousand_characters_arrive_complete() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 👩‍👩‍👧 |"
    section = f"## Part 🚀\n\nSome **words**.\n\n{table}\n\n````md\n```py\nx = 1\n```\n````\n\n- one\n- two\n\n"
    text = (section * 200)[:20_000]

    for limit in (2000, 12_000):
        found = pieces(text, limit)
        assert "".join(piece.body for piece in found) == well_formed(text, limit // 8)
        assert not [piece for piece in found if len(piece.text) > limit or leaves_code_open(piece.text)]
