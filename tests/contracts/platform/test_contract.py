"""Every listed platform against the contract: a new list entry is tested without a change here."""

from local.chats import CHATS
from shared.platforms import PLATFORMS
from tests.contracts.platform.contract import platform_contract

for _chat in CHATS:
    globals()[f"Test{_chat.spec.title}"] = platform_contract(_chat)


def test_every_supported_platform_is_simulated() -> None:
    assert [spec for spec in PLATFORMS if spec.is_supported] == [chat.spec for chat in CHATS]
