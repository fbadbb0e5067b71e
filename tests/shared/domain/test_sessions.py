"""A session: its terminal, its shown title, and whether a turn is alive."""

from dataclasses import replace

import pytest

from shared.domain.routes import Place, cli_place
from shared.domain.sessions import Interruption, Turn, new_session

SESSION = new_session("0123456789abcdef", "ada", now=1)


def test_a_session_keeps_its_terminal_wherever_it_lives() -> None:
    assert replace(SESSION, owner=Place("telegram", "1", "2")).cli == cli_place(SESSION.id) == SESSION.cli


@pytest.mark.parametrize(("title", "shown"), [("Trip", "Trip"), (None, "01234567"), ("", "01234567")])
def test_people_see_the_title_or_else_the_beginning_of_the_id(title: str | None, shown: str) -> None:
    assert replace(SESSION, title=title).shown_title == shown


OFFERED = Turn("t")
PAUSED = Turn("t", fence=2, lease_until=101)


def claimed(lease_until: int) -> Turn:
    return Turn("t", fence=1, is_claimed=True, lease_until=lease_until, begun=1, claim_id="c")


@pytest.mark.parametrize(
    ("turn", "live"),
    [(None, False), (OFFERED, True), (PAUSED, True), (claimed(101), True), (claimed(100), False), (claimed(99), False)],
    ids=["none", "offered", "handed back", "lease ahead", "lease just over", "lease long over"],
)
def test_a_turn_is_alive_unless_its_lease_has_expired(turn: Turn | None, live: bool) -> None:
    assert replace(SESSION, turn=turn).has_live_turn(100) is live


@pytest.mark.parametrize(
    ("turn", "free"),
    [(OFFERED, True), (PAUSED, False), (claimed(101), False), (claimed(100), True)],
    ids=["offered", "handed back with a pause", "lease ahead", "lease just over"],
)
def test_a_turn_may_be_claimed_when_no_executor_has_it(turn: Turn, free: bool) -> None:
    assert turn.may_be_claimed(100) is free


def test_interruptions_keep_their_stored_names() -> None:
    assert [reason.value for reason in Interruption] == ["killed", "out_of_time", "redelivered", "unknown"]
