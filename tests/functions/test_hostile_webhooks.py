"""Signed webhooks with what a platform would not send: answered with 200, and later messages still arrive."""

import random
from typing import Any
from unittest import mock

import pytest

from local.chats import CHATS
from shared.domain.messages import MAX_TEXT
from shared.ports.inbound import Inbound, Pressed
from tests.contracts.platform.toy import CHAT as TOY
from tests.contracts.platform.toy.samples import SAMPLES as TOY_SAMPLES
from tests.shared.platforms.slack.samples import PRESSES as SLACK_PRESSES
from tests.support.hostile_webhooks import SAID, Samples, as_json, each_replaced, hostile
from tests.support.platform_cases import BUTTONED, CASES
from tests.support.webhook_endpoint import WebhookEndpoint, errors_logged, webhook_endpoint

FIRST = 1_790_000_000
WAYS = {**{name: case.samples for name, case in CASES.items()}, TOY.name: TOY_SAMPLES}
MESSAGES = [
    samples for ways in WAYS.values() for samples in ways if SAID in samples.encode(samples.bodies(1)[0]).decode()
]
NAMES = {
    "first_name",
    "username",
    "title",
    "name",
    "nick",
    "global_name",
    "user_name",
    "channel_name",
    "locale",
    "team",
}
HALF = "\ud83d"


def name_of(samples: Samples) -> str:
    return f"{samples.platform} {samples.bodies.__name__}"


@pytest.fixture
def endpoint() -> WebhookEndpoint:
    return webhook_endpoint([*CHATS, TOY])


def fuzz(endpoint: WebhookEndpoint, platform: str, *, seed: int, count: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # a seed reproduces a failure
    for number in range(FIRST, FIRST + count):
        samples = chance.choice(WAYS[platform])
        raw = hostile(chance, samples, number)
        with errors_logged() as errors:
            status = endpoint.post(samples, raw)
        wanted = 200 if endpoint.is_signed(samples, raw) else 401
        assert (status, errors) == (wanted, []), f"seed {seed}, number {number}: {raw[:2000]!r}"
    for samples in WAYS[platform]:
        raw = samples.encode(samples.bodies(FIRST + count)[0])
        assert endpoint.post(samples, raw) == 200
        assert endpoint.row(samples, raw) is not None


@pytest.mark.parametrize("platform", WAYS)
def test_hostile_webhooks_are_answered_with_200(endpoint: WebhookEndpoint, platform: str) -> None:
    fuzz(endpoint, platform, seed=1, count=150)


def test_hostile_presses_are_answered_with_200(endpoint: WebhookEndpoint) -> None:
    """Slack's are inside a field of a form, where the changes of a whole webhook do not reach."""
    chance = random.Random(1)  # noqa: S311  # a seed reproduces a failure
    for number in range(FIRST, FIRST + 300):
        raw = hostile(chance, SLACK_PRESSES, number)
        with errors_logged() as errors:
            status = endpoint.post(SLACK_PRESSES, raw)
        assert (status, errors) == (200, []), f"number {number}: {raw[:2000]!r}"


@pytest.mark.parametrize("platform", [*BUTTONED, TOY.name])
def test_presses_are_among_the_samples(endpoint: WebhookEndpoint, platform: str) -> None:
    found = [
        event
        for samples in (*WAYS[platform], *([SLACK_PRESSES] if platform == SLACK_PRESSES.platform else ()))
        for body in samples.bodies(FIRST)
        for event in endpoint.events(samples, samples.encode(body))
    ]

    has_buttons = endpoint.services.platforms.get(platform).capabilities.buttons
    assert {type(event) for event in found} >= ({Inbound, Pressed} if has_buttons else {Inbound})


@pytest.mark.parametrize("samples", [samples for ways in WAYS.values() for samples in ways], ids=name_of)
def test_no_pattern_is_made_from_a_webhook(endpoint: WebhookEndpoint, samples: Samples) -> None:
    """With a long value that takes seconds and a hundred megabytes, which Python keeps."""

    def parse_with(value: str) -> None:
        for body in samples.bodies(FIRST):
            for changed in each_replaced(body, value):
                endpoint.events(samples, samples.encode(changed))

    parse_with("7001")  # the code's own patterns are compiled now
    with mock.patch("re._compiler.compile", side_effect=AssertionError("a pattern was compiled")):
        parse_with("7002")


def test_every_platform_has_samples_of_a_message() -> None:
    assert {samples.platform for samples in MESSAGES} == {*CASES, TOY.name}


@pytest.mark.parametrize("samples", MESSAGES, ids=name_of)
def test_half_an_emoji_in_a_message_is_replaced(endpoint: WebhookEndpoint, samples: Samples) -> None:
    raw = as_json(samples.bodies(FIRST)[0]).replace(SAID.encode(), b"half \\ud83d, whole \\ud83d\\ude80")

    assert endpoint.post(samples, raw) == 200
    assert endpoint.text(samples, raw) == "half \ufffd, whole 🚀"


@pytest.mark.parametrize("samples", MESSAGES, ids=name_of)
def test_half_an_emoji_in_a_name_is_no_obstacle(endpoint: WebhookEndpoint, samples: Samples) -> None:
    raw = as_json(renamed(samples.bodies(FIRST)[0]))

    assert endpoint.post(samples, raw) == 200
    assert endpoint.text(samples, raw) == SAID


def renamed(value: Any) -> Any:
    if isinstance(value, dict):
        command = value.get("type") == 1 and "options" in value  # the name of a command is not a person's
        return {key: HALF if key in NAMES and not command else renamed(inner) for key, inner in value.items()}
    return [renamed(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("samples", MESSAGES, ids=name_of)
def test_a_text_that_is_too_long_to_store_is_cut(endpoint: WebhookEndpoint, samples: Samples) -> None:
    raw = as_json(samples.bodies(FIRST)[0]).replace(SAID.encode(), "é".encode() * 450_000)

    assert endpoint.post(samples, raw) == 200
    assert endpoint.text(samples, raw) == "é" * MAX_TEXT
