"""The registry: specs by name, and adapters that are imported only when used."""

import subprocess
import sys
from functools import partial

import pytest

from shared.bootstrap import build_services
from shared.errors import PlatformNotConfigured, PlatformNotSupported, UnknownPlatform
from shared.platforms import PLATFORMS
from shared.platforms.registry import PlatformRegistry
from shared.platforms.spec import DEFAULT_BODY_LIMIT, PlatformSpec
from shared.settings import Settings
from shared.use_cases.access import refuse_unusable_platform
from tests.support.secrets import FakeSecrets

SETTINGS = Settings("handoffs", "sessions", "queue")
ALL = {secret: "1:secret" for spec in PLATFORMS for secret in spec.secrets}
SUPPORTED = [spec for spec in PLATFORMS if spec.is_supported]
UNSUPPORTED = PlatformSpec("pigeon", "Pigeon", threads=False, body_limit=5)


def registry(secrets: dict[str, str] = ALL) -> PlatformRegistry:
    return PlatformRegistry(SETTINGS, FakeSecrets(secrets), [*PLATFORMS, UNSUPPORTED])


def test_an_unknown_name_is_refused_with_the_known_names() -> None:
    for ask in (registry().get, registry().is_configured, registry().has_threads, registry().lacks):
        with pytest.raises(UnknownPlatform, match=", ".join(spec.name for spec in PLATFORMS)):
            ask("unheard-of")


def test_a_platform_without_an_adapter_is_not_supported() -> None:
    assert registry().known()["pigeon"] is False
    assert not registry().is_configured("pigeon")
    with pytest.raises(PlatformNotSupported, match=", ".join(spec.name for spec in SUPPORTED)):
        registry().get("pigeon")


def test_a_platform_for_one_machine_is_refused_on_aws_with_that_sentence() -> None:
    platforms = build_services(SETTINGS, client=lambda _: None).platforms
    (here,) = [spec for spec in PLATFORMS if spec.here_only]

    assert [name for name, is_supported in platforms.known().items() if not is_supported] == [here.name]
    for refused in (platforms.get, partial(refuse_unusable_platform, platforms)):
        with pytest.raises(PlatformNotSupported) as raised:
            refused(here.name)
        assert raised.value.message.startswith("Signal works on one machine only")
        assert f"{here.name}," not in raised.value.message, "it is not offered"


def test_a_platform_for_one_machine_is_used_where_its_api_was_named() -> None:
    (here,) = [spec for spec in PLATFORMS if spec.here_only]
    assert here.on_aws({here.name: {"api": "http://daemon.internal"}}).is_supported
    assert here.is_supported


@pytest.mark.parametrize("spec", SUPPORTED, ids=lambda spec: spec.name)
def test_a_platform_needs_all_its_required_secrets(spec: PlatformSpec) -> None:
    assert registry().is_configured(spec.name)
    for missing in spec.secrets:
        incomplete = registry({**ALL, missing: ""})

        assert not incomplete.is_configured(spec.name)
        with pytest.raises(PlatformNotConfigured):
            incomplete.get(spec.name)


@pytest.mark.parametrize("spec", SUPPORTED, ids=lambda spec: spec.name)
def test_missing_secrets_are_named_if_others_are_set(spec: PlatformSpec) -> None:
    first, *others = spec.secrets

    assert registry().lacks(spec.name) == []
    assert registry({}).lacks(spec.name) == []
    assert registry({first: "1:secret"}).lacks(spec.name) == others


@pytest.mark.parametrize("spec", SUPPORTED, ids=lambda spec: spec.name)
def test_an_adapter_is_made_once_and_agrees_with_its_spec(spec: PlatformSpec) -> None:
    platforms = registry()
    adapter = platforms.get(spec.name)

    assert platforms.get(spec.name) is adapter
    assert (adapter.name, adapter.capabilities.threads) == (spec.name, platforms.has_threads(spec.name))


def test_each_platform_has_its_body_limit() -> None:
    assert registry().body_limit("pigeon") == 5
    assert registry().body_limit("unheard-of") == DEFAULT_BODY_LIMIT


def test_specs_and_webhooks_need_no_sdk() -> None:
    program = """
import sys
from shared.platforms import PLATFORMS
from shared.platforms.registry import PlatformRegistry
from shared.ports.inbound import WebhookRequest
from shared.settings import Settings
class Secrets:
    def get(self, name): return "1:secret"
registry = PlatformRegistry(Settings("h", "s", "q"), Secrets())
supported = [spec for spec in PLATFORMS if spec.is_supported]
for spec in supported:
    registry.known(), registry.is_configured(spec.name), registry.has_threads(spec.name), registry.body_limit(spec.name)
assert not [name for name in sys.modules if name.startswith("shared.platforms.") and name.endswith(".adapter")]
for spec in supported:
    registry.get(spec.name).verify(WebhookRequest(b""), now=0)
    registry.get(spec.name).parse(WebhookRequest(b"{}"))
loaded = {module for spec in supported for module in spec.lazy_imports if module in sys.modules}
assert not loaded, loaded
assert not {"telegram", "httpx", "slack_sdk", "discord", "aiohttp"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
