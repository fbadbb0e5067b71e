"""Failing calls, and what is known about the message afterwards."""

import pytest

from local.chats.simulator import Simulator
from shared.domain.routes import Place
from shared.errors import Ambiguous, NotSent, PlatformError, RateLimited, Rejected
from shared.ports.platforms import Part
from tests.contracts.platform.case import PlatformTests
from tests.contracts.platform.harness import PlatformHarness


class Faults(PlatformTests):
    """Each fault raises the error that tells whether the message may have arrived."""

    def test_a_rate_limit_says_how_long_and_sends_nothing(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        at.arm("rate_limit", seconds=77)

        with pytest.raises(RateLimited) as limited:
            at.platform.send(place, Part("hello"), key="a")

        assert limited.value.after == pytest.approx(77, abs=1)
        assert not self._arrived(at, home, place)

    @pytest.mark.parametrize("kind", ["reset", "server_error"])
    def test_a_broken_call_does_not_count_as_sent(self, at: PlatformHarness, kind: str) -> None:
        home = self.first_home
        place = self.open(at, home)
        at.arm(kind, count=20)

        with pytest.raises((Ambiguous, NotSent)):
            at.platform.send(place, Part("hello"), key="a")

        at.arm(kind, count=0)
        assert at.platform.find_message(place, key="a") is None
        assert not self._arrived(at, home, place)

    def test_a_send_without_an_answer_can_be_reconciled(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        at.arm("accept_then_reset")

        with pytest.raises(Ambiguous):
            at.platform.send(place, Part("hello"), key="a")

        [message] = self._arrived(at, home, place)
        can = at.platform.capabilities
        if can.readback:
            assert at.platform.find_message(place, key="a") == message["id"]
            assert at.platform.find_message(place, key="b") is None
        if can.key:
            assert at.platform.send(place, Part("hello"), key="a") == message["id"]
            assert len(self._arrived(at, home, place)) == 1
        if not can.key and not can.readback:
            assert at.platform.find_message(place, key="a") is None

    def test_a_key_that_another_person_has_copied_leads_to_no_message(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        message = at.platform.send(place, Part("hello"), key="a")
        if at.platform.find_message(place, key="a") is None or len(at.people_at(home)) == 1:
            return
        at.simulator.forge(at.name, home.chat, message)

        assert at.platform.find_message(place, key="a") is None

    def test_a_refusal_is_final_and_has_a_reason(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        at.arm("forbidden")

        with pytest.raises(Rejected) as rejected:
            at.platform.send(place, Part("hello"), key="a")

        assert str(rejected.value)
        assert not self._arrived(at, home, place)

    def test_a_platform_that_is_down_was_not_reached(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        at.simulator.stop()

        with pytest.raises(NotSent):
            at.platform.send(place, Part("hello"), key="a")

    def test_a_wrong_token_is_final_and_not_in_the_error(self, at: PlatformHarness) -> None:
        """Without a token, the name of the account stands for it."""
        token, *_ = self.chat.spec.secrets
        at.secrets.values[token] = "9001:wrong-token"

        with pytest.raises(Rejected, match="token" if self.chat.has_token else token) as rejected:
            at.platform.send(self.first_home, Part("hello"), key="a")

        assert "wrong-token" not in str(rejected.value)

    def test_stale_connections_are_replaced(self, at: PlatformHarness) -> None:
        """After a container was frozen, the server has closed the connections that the SDK keeps."""
        at.platform.send(self.first_home, Part("before"), key="a")
        port = int(at.simulator.url.rpartition(":")[2])
        at.simulator.stop()

        restarted = Simulator([self.chat], secrets=at.simulator.secrets)
        restarted.start(port)
        try:
            at.platform.send(self.first_home, Part("after"), key="b")
        finally:
            restarted.stop()

    def test_errors_contain_no_secret(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        texts = []
        for kind in ("rate_limit", "reset", "forbidden", "server_error"):
            at.arm(kind, seconds=77)
            with pytest.raises(PlatformError) as error:
                at.platform.send(place, Part("hello"), key=kind)
            texts.append(str(error.value))

        assert not [text for text in texts for secret in at.secrets.values.values() if secret in text]

    def _arrived(self, at: PlatformHarness, home: Place, place: Place) -> list[dict[str, str]]:
        return [message for message in at.posted(home, place) if message["text"] == "hello"]
