"""A session: its terminal, its shown title, and whether a turn is alive."""

from dataclasses import replace

import pytest

from shared.domain.routes import Place, cli_place
from shared.domain.sessions import Interruption, TurnLease, new_session

SESSION = new_session("0123456789abcdef", "ada", now=1)


def test_a_session_keeps_its_terminal_wherever_it_lives() -> None:
    assert replace(SESSION, owner=Place("telegram", "1", "2")).cli == cli_place(SESSION.id) == SESSION.cli


@pytest.mark.parametrize(("title", "shown"), [("Trip", "Trip"), (None, "01234567"), ("", "01234567")])
def test_people_see_the_title_or_else_the_beginning_of_the_id(title: str | None, shown: str) -> None:
    assert replace(SESSION, title=title).shown_title == shown


@pytest.mark.parametrize(
    ("turn", "live"),
    [(None, False), (TurnLease("t", 101), True), (TurnLease("t", 100), False), (TurnLease("t", 99), False)],
    ids=["none", "lease ahead", "lease just over", "lease long over"],
)
def test_a_turn_is_believed_in_until_its_lease_is_over(turn: TurnLease | None, live: bool) -> None:
    assert replace(SESSION, turn=turn).has_live_turn(100) is live


def test_interruptions_keep_their_stored_names() -> None:
    assert [reason.value for reason in Interruption] == ["killed", "out_of_time", "redelivered", "unknown"]
