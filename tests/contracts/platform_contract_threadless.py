"""Homes that cannot hold threads."""

import pytest

from shared.domain.routes import Place
from shared.errors import ThreadRefused
from shared.ports.platforms import Part
from tests.contracts.platform_contract_case import PlatformCase
from tests.contracts.platform_contract_stand import Stand, now


class Threadless(PlatformCase):
    """The home itself is the place then, and the person is told why."""

    def test_a_home_without_threads_says_why_in_words_for_people(self, at: Stand, threadless: Place) -> None:
        with pytest.raises(ThreadRefused) as refused:
            self.open(at, threadless)

        assert len(str(refused.value).split()) > 3
        assert at.in_the_open(threadless) == []

    def test_a_home_without_threads_still_takes_messages(self, at: Stand, threadless: Place) -> None:
        at.platform.send(threadless, Part("hello"), key="a")

        assert at.in_the_open(threadless) == ["hello"]

    def test_a_home_without_threads_is_the_place_itself(self, at: Stand, threadless: Place) -> None:
        at.say(threadless, threadless, self.said)

        assert self.heard(at).place.route == threadless.route

    def test_a_look_at_a_home_without_threads_says_so(self, at: Stand, threadless: Place) -> None:
        webhook_url = f"{at.simulator.webhook_url}/webhooks/{self.name}"
        found = at.platform.diagnose(threadless, webhook_url=webhook_url, now=now(), seconds=15)

        assert {finding.name: finding.ok for finding in found if finding.name in ("home", "thread")} == {
            "home": True,
            "thread": False,
        }
