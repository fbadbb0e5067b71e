"""What goes wrong on the way out, and what is known of a message then."""

import pytest

from shared.domain.routes import Place
from shared.errors import Ambiguous, NotSent, PlaceGone, PlatformError, RateLimited, Rejected
from shared.ports.platforms import Part
from tests.contracts.platform_contract_case import PlatformCase
from tests.contracts.platform_contract_stand import Stand


class Faults(PlatformCase):
    """Each fault is one of our errors, and the simulator knows whether the message arrived."""

    def test_a_rate_limit_says_how_long_and_sends_nothing(self, at: Stand, home: Place) -> None:
        place = self.open(at, home)
        at.simulator.arm(at.name, "rate_limit", seconds=77)

        with pytest.raises(RateLimited) as limited:
            at.platform.send(place, Part("hello"), key="a")

        assert limited.value.after == pytest.approx(77, abs=1)
        assert not self._arrived(at, home, place)

    @pytest.mark.parametrize("kind", ["reset", "server_error"])
    def test_a_call_that_broke_off_is_not_taken_for_sent(self, at: Stand, kind: str) -> None:
        home = self.first_home
        place = self.open(at, home)
        at.simulator.arm(at.name, kind, count=20)

        with pytest.raises((Ambiguous, NotSent)):
            at.platform.send(place, Part("hello"), key="a")

        at.simulator.arm(at.name, kind, count=0)
        assert at.platform.find_message(place, key="a") is None
        assert not self._arrived(at, home, place)

    def test_a_send_whose_answer_was_lost_is_ambiguous_and_can_be_made_safe(self, at: Stand, home: Place) -> None:
        place = self.open(at, home)
        at.simulator.arm(at.name, "accept_then_reset")

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

    def test_a_refusal_is_final_and_says_something(self, at: Stand, home: Place) -> None:
        place = self.open(at, home)
        at.simulator.arm(at.name, "forbidden")

        with pytest.raises(Rejected) as rejected:
            at.platform.send(place, Part("hello"), key="a")

        assert str(rejected.value)
        assert not self._arrived(at, home, place)

    def test_a_thread_that_was_deleted_is_gone_and_nothing_lands_in_the_open(self, at: Stand, home: Place) -> None:
        place = self.open(at, home)
        at.platform.send(place, Part("first"), key="a")
        at.simulator.remove(at.name, home.chat, place.thread or place.chat)
        before = at.in_the_open(home)

        with pytest.raises(PlaceGone):
            at.platform.send(place, Part("hello"), key="b")

        assert at.in_the_open(home) == before

    def test_a_platform_that_is_down_was_surely_not_reached(self, at: Stand) -> None:
        place = self.open(at, self.first_home)
        at.simulator.stop()

        with pytest.raises(NotSent):
            at.platform.send(place, Part("hello"), key="a")

    def test_errors_hold_no_token(self, at: Stand) -> None:
        place = self.open(at, self.first_home)
        told = []
        for kind in ("rate_limit", "reset", "forbidden", "server_error"):
            at.simulator.arm(at.name, kind, seconds=77)
            with pytest.raises(PlatformError) as error:
                at.platform.send(place, Part("hello"), key=kind)
            told.append(str(error.value))

        assert not [text for text in told for secret in at.secrets.values.values() if secret in text]

    def _arrived(self, at: Stand, home: Place, place: Place) -> list[dict[str, str]]:
        return [message for message in at.posted(home, place) if message["text"] == "hello"]
