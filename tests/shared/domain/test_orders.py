"""Orders: which of two choices a person made later."""

import pytest

from shared.domain.orders import Moment

TYPED = Moment("0007", at=100, epoch=2)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (Moment("0008", at=90, epoch=2), "messages sort by their ids, in whichever order they arrived"),
        (Moment("!0001", at=101, epoch=2), "a press and a message count differently"),
        (Moment("0001", at=90, epoch=3), "the session has moved since"),
    ],
)
def test_the_later_of_two_choices(other: Moment, why: str) -> None:
    assert other.is_after(TYPED), why
    assert not TYPED.is_after(other), why
    assert not other.is_after(other)
