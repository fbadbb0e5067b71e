"""The toy platforms against the contract, without a change to any list."""

import pytest

from shared.domain.routes import Place
from tests.contracts.platform.contract import platform_contract
from tests.contracts.platform.harness import platform_harness, unconnected
from tests.contracts.platform.toy import CHAT, PLAIN_CHAT

TestToy = platform_contract(CHAT)
TestPlainToy = pytest.mark.tier("deep")(platform_contract(PLAIN_CHAT))


def test_a_home_is_stored_as_the_platform_names_it() -> None:
    with platform_harness(CHAT) as at:
        assert at.platform.resolve_chat(Place("toy", "LOUNGE"), people=[]).place == Place("toy", "lounge")


def test_without_an_address_of_the_service_there_are_no_buttons() -> None:
    assert unconnected(CHAT).capabilities.buttons
    assert not unconnected(CHAT, has_address=False).capabilities.buttons
