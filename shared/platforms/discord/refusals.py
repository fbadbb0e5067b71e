"""What Discord refuses for good, with the code by which callers tell one refusal from another."""

from shared.errors import PlaceGone, Rejected

THREAD_ALREADY_THERE = 160004
# A channel that was deleted, and one that the bot may no longer see.
_GONE = frozenset({10003, 50001})


class Refusal(Rejected):
    """Discord's own refusal of one call."""

    def __init__(self, status: int, code: int, text: str) -> None:
        super().__init__(f"Discord says: {text[:200].rstrip('.') or 'no reason given'} (HTTP {status}, code {code})")
        self.code = code


def refusal(status: int, code: int, text: str) -> Rejected:
    """The error for an answer of Discord in the 400s (429 is none of these: it is no refusal for good)."""
    if code in _GONE:
        return PlaceGone("The bot cannot see this Discord channel or thread: it was deleted, or is closed to the bot")
    return Refusal(status, code, text)
