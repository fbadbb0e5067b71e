"""Signatures of Discord and of our relay: only fresh and unchanged bytes are accepted."""

import pytest
from nacl.signing import SigningKey

from shared.platforms.discord.signatures import (
    DISCORD_SIGNATURE,
    DISCORD_TIMESTAMP,
    RELAY_SIGNATURE,
    RELAY_TIMESTAMP,
    from_discord,
    from_relay,
    relay_headers,
)

NOW = 1_790_000_000_000
RAW = b'{"t":"MESSAGE_CREATE","d":{"content":"caf\xc3\xa9"}}'
SECRET = "relay-secret"
KEY = SigningKey(b"\x07" * 32)
PUBLIC_KEY = KEY.verify_key.encode().hex()


def interaction_headers(raw: bytes = RAW, now: int = NOW) -> dict[str, str]:
    timestamp = str(now // 1000)
    signature = KEY.sign(timestamp.encode() + raw).signature.hex()
    return {DISCORD_TIMESTAMP: timestamp, DISCORD_SIGNATURE: signature}


def test_a_fresh_signature_of_the_relay_is_accepted() -> None:
    assert from_relay(relay_headers(SECRET, RAW, now=NOW), RAW, secret=SECRET, now=NOW + 299_000)


def test_a_fresh_signature_of_discord_is_accepted() -> None:
    assert from_discord(interaction_headers(), RAW, public_key=PUBLIC_KEY, now=NOW + 299_000)


@pytest.mark.parametrize("secret", [None, "", "another-secret"])
def test_without_the_relay_secret_nothing_is_accepted(secret: str | None) -> None:
    signed = relay_headers(secret or "", RAW, now=NOW) if not secret else relay_headers(SECRET, RAW, now=NOW)
    assert not from_relay(signed, RAW, secret=secret, now=NOW)


@pytest.mark.parametrize("public_key", [None, "", "zz", "00" * 31, SigningKey(b"\x08" * 32).verify_key.encode().hex()])
def test_without_the_public_key_nothing_is_accepted(public_key: str | None) -> None:
    assert not from_discord(interaction_headers(), RAW, public_key=public_key, now=NOW)


@pytest.mark.parametrize("shift", [-301_000, 301_000, 86_400_000])
def test_a_stale_or_future_signature_is_refused(shift: int) -> None:
    assert not from_relay(relay_headers(SECRET, RAW, now=NOW), RAW, secret=SECRET, now=NOW + shift)
    assert not from_discord(interaction_headers(), RAW, public_key=PUBLIC_KEY, now=NOW + shift)


def test_tampered_bytes_are_refused() -> None:
    assert not from_relay(relay_headers(SECRET, RAW, now=NOW), RAW + b" ", secret=SECRET, now=NOW)
    assert not from_discord(interaction_headers(), RAW + b" ", public_key=PUBLIC_KEY, now=NOW)


@pytest.mark.parametrize("timestamp", ["", "soon", "-1", "1e9", "²", "9" * 30, "1790000000 "])
def test_a_timestamp_that_is_not_a_number_is_refused(timestamp: str) -> None:
    relayed = relay_headers(SECRET, RAW, now=NOW) | {RELAY_TIMESTAMP: timestamp}
    interaction = interaction_headers() | {DISCORD_TIMESTAMP: timestamp}
    assert not from_relay(relayed, RAW, secret=SECRET, now=NOW)
    assert not from_discord(interaction, RAW, public_key=PUBLIC_KEY, now=NOW)


@pytest.mark.parametrize("signature", ["", "v1=", "ü", "00", "00" * 64, "zz" * 64])
def test_a_malformed_signature_is_refused(signature: str) -> None:
    relayed = relay_headers(SECRET, RAW, now=NOW) | {RELAY_SIGNATURE: signature}
    interaction = interaction_headers() | {DISCORD_SIGNATURE: signature}
    assert not from_relay(relayed, RAW, secret=SECRET, now=NOW)
    assert not from_discord(interaction, RAW, public_key=PUBLIC_KEY, now=NOW)


def test_a_request_without_headers_is_refused() -> None:
    assert not from_relay({}, RAW, secret=SECRET, now=NOW)
    assert not from_discord({}, RAW, public_key=PUBLIC_KEY, now=NOW)
