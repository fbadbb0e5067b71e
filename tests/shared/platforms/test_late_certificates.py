"""A TLS context that reads the system's certificates when it is first used."""

import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from shared.platforms.late_certificates import certificates_when_used

ROOT = Path(__file__).resolve().parents[3]
IMPORT = """
from shared.platforms.late_certificates import certificates_when_used
with certificates_when_used():
    import aiohttp.connector
for context in (aiohttp.connector._SSL_CONTEXT_VERIFIED, aiohttp.connector._SSL_CONTEXT_UNVERIFIED):
    print("wrap_bio" in context.__dict__)
"""


def loaded(monkeypatch: pytest.MonkeyPatch) -> list[ssl.SSLContext]:
    found: list[ssl.SSLContext] = []
    monkeypatch.setattr(ssl.SSLContext, "set_default_verify_paths", lambda context: found.append(context))  # noqa: PLW0108  # a function is bound
    return found


def connect(context: ssl.SSLContext) -> ssl.SSLObject:
    return context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="example.org")


def test_certificates_are_read_once_by_the_first_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    read = loaded(monkeypatch)
    with certificates_when_used():
        context = ssl.create_default_context()
    assert not read

    for _ in range(2):
        connect(context)
    assert read == [context]


def test_it_still_checks_certificates() -> None:
    with certificates_when_used():
        context = ssl.create_default_context()

    connect(context)
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.cert_store_stats() == ssl.create_default_context().cert_store_stats()


def test_other_contexts_read_them_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = loaded(monkeypatch)
    with certificates_when_used():
        pass

    context = ssl.create_default_context()
    assert read == [context]


def test_aiohttp_can_be_imported_like_this() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["True", "True"]
