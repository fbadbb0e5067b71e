"""The offer of a turn: where its reply is kept, and how often the sweep has sent it."""

from dataclasses import replace

from shared.domain.offers import Offer
from shared.domain.routes import Place

WORDS = Offer("t-1", "s-1", "ada", Place("chat", "home"), epoch=0, offered_at=1, rows=("0001",))


def test_the_reply_to_words_is_kept_under_the_turn() -> None:
    assert WORDS.journal == "t-1"


def test_all_kickoffs_of_a_handoff_share_one_journal() -> None:
    first, second = replace(WORDS, rows=(), handoff_id="h-1"), replace(WORDS, id="t-2", rows=(), handoff_id="h-1")
    assert first.journal == second.journal == "kickoff-h-1"


def test_a_claim_starts_the_count_of_nudges_again() -> None:
    nudged = replace(WORDS, nudges=4, nudged_fence=2)
    assert (nudged.nudges_at(2), nudged.nudges_at(3), WORDS.nudges_at(0)) == (4, 0, 0)
