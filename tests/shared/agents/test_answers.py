"""A model's text as a reply."""

import pytest

from shared.agents.answers import brief, reply_text
from shared.agents.attempts import EmptyAnswer


@pytest.mark.parametrize("thoughts", ["<think>hm</think>", "\n<thinking>\nhm\n</thinking>\n\n", ""])
def test_thoughts_stay_with_the_model(thoughts: str) -> None:
    assert reply_text(f"{thoughts}It is <think>4</think>. ") == "It is <think>4</think>."


def test_nothing_but_thoughts_is_nothing() -> None:
    for text in ("<think>hm</think>", "<think>hm", "  "):
        with pytest.raises(EmptyAnswer):
            reply_text(text)


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("```\nx", "```\nx\n```"),
        ("```\nx\n```", "```\nx\n```"),
        ("````md\n```\nx\n```", "````md\n```\nx\n```\n````"),
        ("~~~\n```", "~~~\n```\n~~~"),
        ("```py\nx\n``` not an end", "```py\nx\n``` not an end\n```"),
        ("plain", "plain"),
    ],
)
def test_our_own_words_stay_outside_of_an_open_fence(text: str, closed: str) -> None:
    said, _, ours = reply_text(text, "length").rpartition("\n\n")
    assert said == closed
    assert "cut off" in ours


def test_words_of_others_are_short_sentences() -> None:
    assert brief("a\n b") == "a b."
    assert brief("Really?") == "Really?"
    assert len(brief("x" * 999)) <= 202
