"""Discord's final refusals, with the code that tells them apart."""

from shared.errors import PlaceGone, Rejected

THREAD_EXISTS = 160004
ALREADY_ANSWERED = 40060  # an interaction
# Unknown channel, and missing access.
_GONE = frozenset({10003, 50001})


class DiscordRefused(Rejected):
    """Discord refused one call."""

    def __init__(self, status: int, code: int, text: str) -> None:
        super().__init__(f"Discord says: {text[:200].rstrip('.') or 'no reason given'} (HTTP {status}, code {code})")
        self.code = code


def refusal(status: int, code: int, text: str) -> Rejected:
    """The error for an answer in the 400s, except 429, which is not final."""
    if code in _GONE:
        return PlaceGone("The bot cannot see this Discord channel or thread: it was deleted, or the bot has no access")
    return DiscordRefused(status, code, text)
