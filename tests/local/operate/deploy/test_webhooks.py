"""What a deploy says about the bots: where they post, and never a secret."""

from collections.abc import Iterator

import pytest

from local.chats.simulator import Simulator
from local.operate.deploy.webhooks import set_webhooks
from shared.platforms import PLATFORMS
from tests.support.secrets import FakeSecrets


@pytest.fixture
def platforms() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


def test_no_secret_is_shown(platforms: Simulator) -> None:
    urls = {spec.name: {"api": platforms.api_url(spec.name)} for spec in PLATFORMS if spec.is_supported}
    secrets = FakeSecrets(platforms.secrets)
    lines = list(set_webhooks(secrets, "https://service.test", urls, options="--stack handoff", take=True))

    assert any(line.startswith("WhatsApp: ") and "/webhooks/whatsapp" in line for line in lines)
    hidden = {name: value for name, value in platforms.secrets.items() if not name.endswith("_id")}
    assert not [name for name, value in hidden.items() if value in "\n".join(lines)]
