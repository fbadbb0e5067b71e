"""WhatsApp's error codes as errors of the port."""

from shared.errors import PlaceGone, PlatformError, RateLimited, Rejected
from shared.platforms.answers import retry_after

PAIR_LIMIT = 131056
PAIR_SECONDS = 6.0
"""WhatsApp takes one message to a person in six seconds, and bursts that it then counts off."""
_LIMITS = {4: 60.0, 80007: 60.0, 130429: 5.0, 131048: 60.0, 133016: 60.0, PAIR_LIMIT: PAIR_SECONDS}
"""The seconds to wait where the answer does not say how many."""
_UNSURE = frozenset({1, 2, 131000, 131016, 131057, 133004})
"""WhatsApp failed, or is busy with itself: the message may have been accepted."""
_TOKEN = "WhatsApp does not accept the access token. Set a permanent one of a system user as whatsapp/access_token"  # noqa: S105  # advice
_RIGHTS = "The access token lacks the permission whatsapp_business_messaging for this phone number"
_ADVICE = {
    0: _TOKEN,
    3: _RIGHTS,
    10: _RIGHTS,
    190: _TOKEN,
    100: "WhatsApp finds the request invalid. Compare whatsapp/phone_number_id with the app's API setup",
    368: "Meta has blocked this WhatsApp account for a violation of its policies. See the account's quality in Meta's manager",
    131031: "Meta has locked this WhatsApp account. See its status in Meta's manager",
    131047: "More than 24 hours have passed since you last wrote to the bot. Write to it first, then try again",
}
_EXPIRED = {463: "has expired", 467: "was revoked"}
_GONE = {131026: "WhatsApp cannot deliver to this number: it has no WhatsApp, or has blocked the bot"}


def is_unsure(code: int) -> bool:
    """Whether the message may have been accepted all the same."""
    return code in _UNSURE


def is_final(code: int) -> bool:
    """Whether a message that failed with this code would fail again."""
    return code not in _LIMITS and not is_unsure(code)


def refusal(code: int, subcode: int | None, asked: str | None) -> PlatformError:
    """The error for a readable refusal. `asked` is the header Retry-After, which WhatsApp need not send."""
    if code in _LIMITS:
        return RateLimited(retry_after(asked) if asked else _LIMITS[code])
    if code in _GONE:
        return PlaceGone(_GONE[code])
    if subcode in _EXPIRED:
        return Rejected(f"WhatsApp's access token {_EXPIRED[subcode]}. Set a permanent one of a system user")
    if 200 <= code <= 299:
        return Rejected(_RIGHTS)
    return Rejected(_ADVICE.get(code, f"WhatsApp refuses it with error {code}"))
