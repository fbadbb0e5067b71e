"""Signatures of webhooks: Ed25519 by Discord on interactions, HMAC by our relay of the Gateway."""

import hashlib
import hmac
from collections.abc import Mapping

from shared.platforms.webhooks import is_equal, is_fresh

RELAY_SIGNATURE = "x-handoff-relay-signature"
RELAY_TIMESTAMP = "x-handoff-relay-timestamp"
DISCORD_SIGNATURE = "x-signature-ed25519"
DISCORD_TIMESTAMP = "x-signature-timestamp"


def relay_headers(secret: str, raw: bytes, *, now: int) -> dict[str, str]:
    """The relay's headers for `raw` (`now` in milliseconds). They expire, so sign again for each attempt."""
    timestamp = str(now // 1000)
    return {RELAY_TIMESTAMP: timestamp, RELAY_SIGNATURE: _relay_signature(secret, timestamp, raw)}


def from_relay(headers: Mapping[str, str], raw: bytes, *, secret: str | None, now: int) -> bool:
    """Whether our relay signed these bytes within the window."""
    timestamp = headers.get(RELAY_TIMESTAMP, "")
    if not secret or not is_fresh(timestamp, now=now):
        return False
    return is_equal(headers.get(RELAY_SIGNATURE), _relay_signature(secret, timestamp, raw))


def from_discord(headers: Mapping[str, str], raw: bytes, *, public_key: str | None, now: int) -> bool:
    """Whether Discord signed these bytes within the window. It also sends wrong signatures, to test the endpoint."""
    timestamp = headers.get(DISCORD_TIMESTAMP, "")
    if not public_key or not is_fresh(timestamp, now=now):
        return False
    # Imported here, because most functions never verify an interaction.
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
