"""What is said to the agent."""

import pytest

from handoff_cli.runner.prompts import GO_ON, INTERRUPTED, MISSED_CUT, already_given, first_prompt


def _words(*texts: str) -> list[dict[str, str]]:
    return [{"id": str(number), "text": text} for number, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("words", "said", "given"),
    [
        (["fix it"], ["hello", "fix it"], [True]),
        (["fix it"], ["fix it", "hello"], [False]),
        (["ok"], ["look at this"], [False]),
        (["a", "b"], ["a\n\nb"], [True, True]),
        (["a", "b"], ["x", "a"], [True, False]),
        (["a", "b"], ["a", "b"], [True, True]),
        (["fix it"], [f"{INTERRUPTED}\n\nfix it"], [True]),
        (["fix it "], ["fix it\n"], [True]),
        (["a", "b"], ["x", "a", "b", GO_ON, f"[Handoff: a note]\n\n{GO_ON}"], [True, True]),
        (["fix it"], [], [False]),
        ([], ["hello"], []),
    ],
)
def test_words_that_the_native_session_has(words: list[str], said: list[str], given: list[bool]) -> None:
    assert already_given(_words(*words), said) == given


def test_words_that_were_followed_by_others_are_found_behind_as_many() -> None:
    said = ["fix it", "hello", "use tabs"]
    assert [already_given(_words("fix it"), said, since=since) for since in (0, 1, 2)] == [[False], [False], [True]]


def test_plain_words_are_given_as_they_are() -> None:
    assert first_prompt(_words("one", "two"), missed=[], given=[False, False], interrupted=False) == "one\n\ntwo"


def test_words_that_are_there_are_not_repeated() -> None:
    assert first_prompt(_words("one"), missed=[], given=[True], interrupted=True) == GO_ON
    both = first_prompt(_words("one", "two"), missed=[], given=[True, False], interrupted=True)
    assert both == f"{INTERRUPTED}\n\ntwo"


def test_of_a_long_absence_the_newest_part_is_told() -> None:
    missed = [{"role": "user", "content": f"{number} " + "x" * 7000} for number in range(60)]
    prompt = first_prompt(_words("now"), missed=missed, given=[False], interrupted=False)
    assert len(prompt) < 140_000
    assert MISSED_CUT in prompt
    assert "Me: 59 x" in prompt
    assert "Me: 0 x" not in prompt
