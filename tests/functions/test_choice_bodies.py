"""Questions of a runner as the service takes them."""

import pytest
from pydantic import ValidationError

from functions.request.runner_bodies import AskBody, DecisionView
from shared.domain.questions import CHOICE, Question, QuestionState

OPTION = {"id": "1", "kind": "choice", "name": "SQLite"}


@pytest.mark.parametrize(
    ("body", "is_taken"),
    [
        ({"options": [OPTION]}, True),
        ({"options": []}, False),
        ({"options": [], "free": True}, False),
        ({"options": [], "free": True, "kind": "choice"}, True),
        ({"options": [OPTION], "several": True}, False),
        ({"options": [OPTION], "blocks": False}, False),
        ({"options": [OPTION], "blocks": False, "several": True, "kind": "choice"}, True),
        ({"options": [OPTION] * 21, "kind": "choice"}, False),
        ({"options": [OPTION], "plan": "x" * 24_001}, False),
    ],
)
def test_only_a_choice_takes_words_several_options_or_does_not_block(body: dict[str, object], is_taken: bool) -> None:
    try:
        AskBody.model_validate({"n": 1, "title": "Which?", **body})
    except ValidationError:
        assert not is_taken
    else:
        assert is_taken


@pytest.mark.parametrize(
    ("state", "shown"),
    [("answered", "answered"), ("declined", "declined"), ("expired", "expired"), ("unknown", "expired")],
)
def test_a_decision_of_an_unknown_state_counts_as_refused(state: str, shown: str) -> None:
    question = Question("s", "t", 1, 1, "Which?", [], 0, kind=CHOICE, state=QuestionState(state), chosen=("1", "2"))
    view = DecisionView.of(question, None)
    assert (view.state, view.options, view.option) == (shown, ["1", "2"], None)
