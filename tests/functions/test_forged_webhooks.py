"""Webhooks that the platform did not send just now: rejected or ignored, without a write or a wake-up."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from local.chats import CHATS
from local.chats.spec import LocalChat
from tests.support.platform_cases import CASES, DEFAULT_PLATFORM, PLATFORMS
from tests.support.webhook_endpoint import WebhookEndpoint, webhook_endpoint

WEBHOOKS = {name: webhook for case in CASES.values() for name, webhook in case.webhooks.items()}
WITH_TIMESTAMP = [name for name, webhook in WEBHOOKS.items() if webhook.timestamp]
REFUSING = [chat for chat in CHATS if not chat.spec.drops_oversized]
NUMBER = 123_456_789


@pytest.fixture
def endpoint() -> WebhookEndpoint:
    return webhook_endpoint(CHATS)


def body(way: str, text: str = "let me in") -> bytes:
    return json.dumps(WEBHOOKS[way].message(NUMBER, text)).encode()


def signed(endpoint: WebhookEndpoint, way: str, raw: bytes, *, age: int = 0) -> tuple[bytes, Mapping[str, str]]:
    return WEBHOOKS[way].signed(endpoint.secrets, raw, int(time.time()) - age)


def post(endpoint: WebhookEndpoint, way: str, raw: bytes, headers: Mapping[str, str]) -> int:
    webhook = WEBHOOKS[way]
    return endpoint.send(webhook.method, webhook.path, raw, headers)


@contextmanager
def unchanged(endpoint: WebhookEndpoint) -> Iterator[None]:
    before = endpoint.effects()
    yield
    assert endpoint.effects() == before


@pytest.mark.parametrize("way", WEBHOOKS)
def test_an_unsigned_event_is_rejected(endpoint: WebhookEndpoint, way: str) -> None:
    with unchanged(endpoint):
        assert post(endpoint, way, body(way), {}) == 401


@pytest.mark.parametrize("way", WEBHOOKS)
def test_an_event_signed_with_another_secret_is_rejected(endpoint: WebhookEndpoint, way: str) -> None:
    other = {name: value for chat in CHATS for name, value in chat.new_secrets().items()}
    with unchanged(endpoint):
        assert post(endpoint, way, *WEBHOOKS[way].signed(other, body(way), int(time.time()))) == 401


@pytest.mark.parametrize("way", WITH_TIMESTAMP)
def test_an_event_changed_after_signing_is_rejected(endpoint: WebhookEndpoint, way: str) -> None:
    raw, headers = signed(endpoint, way, body(way))
    with unchanged(endpoint):
        assert post(endpoint, way, raw.replace(b"let me in", b"let us in"), headers) == 401
        assert post(endpoint, way, raw + b" ", headers) == 401


@pytest.mark.parametrize("age", [-400, 400], ids=["from the future", "stale"])
@pytest.mark.parametrize("way", WITH_TIMESTAMP)
def test_an_old_signature_is_rejected(endpoint: WebhookEndpoint, way: str, age: int) -> None:
    with unchanged(endpoint):
        assert post(endpoint, way, *signed(endpoint, way, body(way), age=age)) == 401


@pytest.mark.parametrize("way", WEBHOOKS)
@pytest.mark.parametrize("garbage", ["", "ü", "v0=", "-1", "9" * 400], ids=repr)
def test_malformed_signature_headers_are_rejected(endpoint: WebhookEndpoint, way: str, garbage: str) -> None:
    raw, headers = signed(endpoint, way, body(way))
    with unchanged(endpoint):
        assert {post(endpoint, way, raw, {**headers, name: garbage}) for name in headers} <= {401}


@pytest.mark.parametrize("way", WEBHOOKS)
@pytest.mark.parametrize(
    "raw", [b"", b"\xff\xfe", b"[]", b"null", b"{", b'"text"', b"{}" * 3, b"[" * 5000], ids=lambda raw: repr(raw[:8])
)
def test_a_signed_malformed_body_is_ignored(endpoint: WebhookEndpoint, way: str, raw: bytes) -> None:
    with unchanged(endpoint):
        assert post(endpoint, way, *signed(endpoint, way, raw)) in (200, 401)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_events_without_a_person_are_ignored(endpoint: WebhookEndpoint, platform: str) -> None:
    way = next(iter(CASES[platform].webhooks))
    with unchanged(endpoint):
        for event, ignored in CASES[platform].ignored.items():
            assert post(endpoint, way, *signed(endpoint, way, json.dumps(ignored).encode())) == 200, event


@pytest.mark.parametrize("platform", [*PLATFORMS, "pigeon"])
@pytest.mark.parametrize("raw", [b'{"type": "url_verification", "challenge": "tell"}', b'{"type": 1}', b"{}"], ids=repr)
def test_an_unsigned_handshake_gets_no_answer(endpoint: WebhookEndpoint, platform: str, raw: bytes) -> None:
    """The response is the same for every name, so it does not tell which platforms are configured."""
    answer = endpoint.answer("POST", f"/webhooks/{platform}", raw, {})
    assert answer["statusCode"] == 401
    assert "tell" not in answer["body"]
    assert answer["body"] == endpoint.answer("POST", f"/webhooks/{DEFAULT_PLATFORM}", b"{}", {})["body"]


@pytest.mark.parametrize("chat", REFUSING, ids=lambda chat: chat.name)
def test_an_event_over_the_limit_is_rejected(endpoint: WebhookEndpoint, chat: LocalChat) -> None:
    way = next(iter(CASES[chat.name].webhooks))
    with unchanged(endpoint):
        assert post(endpoint, way, *signed(endpoint, way, b" " * (chat.spec.body_limit + 1))) == 413


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("rest", ["", "/below"])
def test_every_method_and_path_is_verified(endpoint: WebhookEndpoint, method: str, rest: str) -> None:
    assert endpoint.send(method, f"/webhooks/{DEFAULT_PLATFORM}{rest}", b"{}", {}) == 401


@pytest.mark.parametrize("way", WEBHOOKS)
def test_an_event_delivered_three_times_is_stored_once(endpoint: WebhookEndpoint, way: str) -> None:
    raw = body(way, "said once")
    assert [post(endpoint, way, *signed(endpoint, way, raw)) for _ in range(3)] == [200] * 3
    stored, _ = endpoint.effects()
    assert len(stored) == 1


@pytest.mark.parametrize("platform", ["pigeon", f"{DEFAULT_PLATFORM} ", DEFAULT_PLATFORM.upper()])
def test_an_unknown_platform_is_rejected(endpoint: WebhookEndpoint, platform: str) -> None:
    way = next(iter(CASES[DEFAULT_PLATFORM].webhooks))
    raw, headers = signed(endpoint, way, body(way))
    with unchanged(endpoint):
        assert endpoint.send("POST", f"/webhooks/{platform}", raw, headers) == 401


@pytest.mark.parametrize("way", WEBHOOKS)
def test_without_a_secret_every_event_is_rejected(way: str) -> None:
    bare = webhook_endpoint(CHATS, configured={})
    assert post(bare, way, *signed(bare, way, body(way))) == 401
    assert bare.effects() == ([], 0)
