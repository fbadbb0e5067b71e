"""The table of platforms."""

import subprocess
import sys

import pytest

from shared.errors import PlatformNotConfigured, PlatformNotSupported, UnknownPlatform
from shared.platforms import PLATFORMS, telegram
from shared.platforms.registry import PlatformRegistry
from shared.settings import Settings
from tests.support.secrets import FakeSecrets

SETTINGS = Settings("handoffs", "sessions", "queue")


ALL = {secret: "1:secret" for spec in PLATFORMS for secret in spec.secrets}


def test_listed_platforms_say_whether_they_are_supported():
    assert PlatformRegistry(SETTINGS, FakeSecrets()).known() == {
        "telegram": True,
        "slack": True,
        "discord": True,
        "matrix": False,
        "whatsapp": False,
        "signal": False,
    }


def test_an_unknown_name_is_told_the_known_ones():
    registry = PlatformRegistry(SETTINGS, FakeSecrets(ALL))

    for ask in (registry.get, registry.is_configured, registry.has_threads):
        with pytest.raises(UnknownPlatform, match="telegram, slack, discord"):
            ask("myspace")


def test_a_listed_platform_that_is_not_built_says_which_are():
    with pytest.raises(PlatformNotSupported, match="telegram, slack, discord"):
        PlatformRegistry(SETTINGS, FakeSecrets(ALL)).get("matrix")


@pytest.mark.parametrize("missing", telegram.SPEC.secrets)
def test_a_platform_is_configured_only_with_all_its_secrets(missing):
    registry = PlatformRegistry(SETTINGS, FakeSecrets({**ALL, missing: ""}))

    assert not registry.is_configured("telegram")
    with pytest.raises(PlatformNotConfigured):
        registry.get("telegram")


def test_an_unsupported_platform_is_never_configured():
    assert not PlatformRegistry(SETTINGS, FakeSecrets(ALL)).is_configured("signal")


def test_an_adapter_is_made_once_and_carries_its_name():
    registry = PlatformRegistry(SETTINGS, FakeSecrets(ALL))

    for name, supported in registry.known().items():
        if supported:
            assert registry.get(name) is registry.get(name)
            assert registry.get(name).name == name
            assert registry.get(name).capabilities.threads == registry.has_threads(name)


def test_threads_are_known_without_an_adapter():
    registry = PlatformRegistry(SETTINGS, FakeSecrets())

    assert [name for name in registry.known() if not registry.has_threads(name)] == ["whatsapp", "signal"]


def test_asking_what_is_configured_loads_no_sdk_and_reading_a_webhook_neither():
    program = """
import sys
from shared.platforms.registry import PlatformRegistry
from shared.ports.inbound import WebhookRequest
from shared.settings import Settings
from tests.support.secrets import FakeSecrets
secrets = FakeSecrets({"telegram/bot_token": "1:secret", "telegram/webhook_secret": "secret"})
registry = PlatformRegistry(Settings("h", "s", "q"), secrets)
registry.known(), registry.is_configured("telegram"), registry.has_threads("slack")
assert not [name for name in sys.modules if name.startswith("shared.platforms.telegram.adapter")]
registry.get("telegram").verify(WebhookRequest(b""), now=0), registry.get("telegram").parse(WebhookRequest(b"{}"))
loaded = {"telegram", "httpx", "slack_sdk", "discord", "aiohttp", "telegramify_markdown"} & set(sys.modules)
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
