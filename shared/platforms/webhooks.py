"""Reading of webhooks: secrets and signatures, times, odd values, and commands with another sign."""

import hmac
import re
from typing import Any

from shared.domain.commands import COMMANDS

UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError, RecursionError)
"""Errors that an odd value raises where it is read."""
FRESH_SECONDS = 300
"""A signature outside this window is a replay, or a clock is wrong."""
_BANG = re.compile(r"!([a-z]+)(?!\S)")


def is_equal(given: Any, wanted: str | None) -> bool:
    """Whether the secret or signature is the wanted one, in constant time. Never, while none is set."""
    return (
        isinstance(given, str)
        and bool(wanted)
        and hmac.compare_digest(given.encode("utf-8", "replace"), str(wanted).encode())
    )


def is_fresh(second: str, *, now: int) -> bool:
    """Whether a signed time, in seconds, is within the window around `now`, in milliseconds."""
    return bool(re.fullmatch(r"[0-9]{1,12}", second)) and abs(now / 1000 - int(second)) <= FRESH_SECONDS


def with_slash(text: str) -> str:
    """`!resume` as `/resume`: many clients keep texts with a slash for themselves."""
    match = _BANG.match(text)
    return f"/{text[1:]}" if match and match[1] in COMMANDS else text
