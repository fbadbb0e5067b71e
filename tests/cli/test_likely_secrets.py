"""Likely secrets are found, named and masked; other text is left alone."""

import json
from typing import Any

import pytest

from handoff_cli.transcripts.likely_secrets import find, redact
from tests.cli.conftest import Run
from tests.support.fault_proxy import FaultProxy

# In pieces, so that secret scanners do not report this file.
SECRETS = {
    "AWS access key": "AKIA" + "IOSFODNN7EXAMPLE",
    "GitHub token": "ghp_" + "a1B2" * 9,
    "Slack token": "xoxb-" + "123456789012-abcdefghijkl",
    "Telegram bot token": "123456789:" + "AAE" + "x" * 32,
    "API key": "sk-" + "proj-" + "A1b2C3d4" * 4,
    "JSON web token": "eyJhbGciOiJI.".replace(".", "UzI1NiJ9.") + "eyJzdWIiOiIxMjM0In0." + "c2lnbmF0dXJlLXg",
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    "password in a URL": "admin:" + "hunter22",
    "bearer token": "abcdefghij" * 3,
    "assigned secret": "correct-horse-battery",
}
AROUND = {
    "password in a URL": "postgres://{}@db/x",
    "bearer token": "Authorization: Bearer {}",
    "assigned secret": 'DB_PASSWORD="{}"',
}


@pytest.mark.parametrize("kind", sorted(SECRETS))
def test_each_kind_is_found_and_masked_everywhere(kind: str) -> None:
    secret = SECRETS[kind]
    text = f"before {AROUND.get(kind, '{}').format(secret)} after"
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": text},
        {"role": "user", "content": [{"type": "text", "text": text}]},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": json.dumps({"x": text})}}]},
    ]
    assert find(messages) == {kind: 3}
    masked = json.dumps(redact(messages))
    assert secret not in masked
    assert json.dumps(secret)[1:-1] not in masked
    assert f"[redacted {kind}]" in masked
    assert find(redact(messages)) == {}


@pytest.mark.parametrize(
    "text",
    [
        "The token is expired, the password was wrong.",
        "max_tokens: 4096, token_count = 12",
        "password = os.environ['DB_PASSWORD']",
        "api_key=$API_KEY",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "https://example.invalid/a:b/c@d",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    ],
)
def test_ordinary_text_is_not_a_secret(text: str) -> None:
    assert find([{"role": "user", "content": text}]) == {}


def test_send_warns_and_redact_masks(run: Run, proxy: FaultProxy) -> None:
    line = json.dumps({"role": "user", "content": f"use {SECRETS['AWS access key']}"})
    warned = run("send", "telegram", "--transcript", "-", "--json", stdin=line)
    assert warned.returncode == 0
    assert "1 × AWS access key" in warned.stderr
    masked = run("send", "telegram", "--transcript", "-", "--redact", stdin=line)
    assert (masked.returncode, masked.stderr) == (0, "")
    sent = [request.body for request in proxy.calls("POST", "/sessions/[^/]+/messages")]
    assert [SECRETS["AWS access key"].encode() in body for body in sent] == [True, False]
