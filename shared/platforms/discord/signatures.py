"""Who may speak for Discord: Discord itself (Ed25519 on interactions), or our own relay of its Gateway (HMAC)."""

import hashlib
import hmac
from collections.abc import Mapping

RELAY_SIGNATURE = "x-handoff-relay-signature"
RELAY_TIMESTAMP = "x-handoff-relay-timestamp"
DISCORD_SIGNATURE = "x-signature-ed25519"
DISCORD_TIMESTAMP = "x-signature-timestamp"

# A signature older or newer than this is a replay or a wrong clock.
WINDOW_SECONDS = 300


def relay_headers(secret: str, raw: bytes, *, now: int) -> dict[str, str]:
    """The headers with which a relay vouches for `raw` (now in milliseconds); they age, so sign anew for each try."""
    timestamp = str(now // 1000)
    return {RELAY_TIMESTAMP: timestamp, RELAY_SIGNATURE: _relay_signature(secret, timestamp, raw)}


def from_relay(headers: Mapping[str, str], raw: bytes, *, secret: str | None, now: int) -> bool:
    """Whether our relay signed these bytes just now."""
    timestamp = headers.get(RELAY_TIMESTAMP, "")
    if not secret or not _is_fresh(timestamp, now):
        return False
    signature = headers.get(RELAY_SIGNATURE, "")
    return hmac.compare_digest(signature.encode(), _relay_signature(secret, timestamp, raw).encode())


def from_discord(headers: Mapping[str, str], raw: bytes, *, public_key: str | None, now: int) -> bool:
    """Whether Discord signed these bytes just now. It sends wrong ones on purpose to see that they are refused."""
    timestamp = headers.get(DISCORD_TIMESTAMP, "")
    if not public_key or not _is_fresh(timestamp, now):
        return False
    # Imported here: the functions that never see an interaction need not load it.
    from nacl.exceptions import CryptoError  # noqa: PLC0415  # see above
    from nacl.signing import VerifyKey  # noqa: PLC0415  # see above

    try:
        signature = bytes.fromhex(headers.get(DISCORD_SIGNATURE, ""))
        VerifyKey(bytes.fromhex(public_key)).verify(timestamp.encode() + raw, signature)
    except (CryptoError, ValueError):
        return False
    return True


def _relay_signature(secret: str, timestamp: str, raw: bytes) -> str:
    return "v1=" + hmac.new(secret.encode(), timestamp.encode() + b"." + raw, hashlib.sha256).hexdigest()


def _is_fresh(timestamp: str, now: int) -> bool:
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        return False
    return abs(now // 1000 - int(timestamp)) <= WINDOW_SECONDS
