"""What platforms tell us."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.routes import Place
from shared.ports.inbound import Parsed, WebhookRequest
from shared.ports.platforms import Part
from tests.contracts.platform_contract_case import OWNER, PlatformCase
from tests.contracts.platform_contract_rendering import quick
from tests.contracts.platform_contract_stand import Stand, now, unconnected

_keys = st.sampled_from(["message", "event", "type", "from", "chat", "id", "text", "t", "d", "author", "data", "ts"])
_leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=10)
bodies = st.recursive(
    _leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=5), max_leaves=20
).map(lambda value: json.dumps(value).encode())


class Inbounds(PlatformCase):
    """Verify and parse, on what the simulator really posts."""

    def test_a_reply_in_the_thread_comes_from_the_very_place_that_was_opened(self, at: Stand, home: Place) -> None:
        place = self.open(at, home)
        at.platform.send(place, Part("hello"), key="a")

        for where in (place, home):
            if where == home and home.chat in self.threads_only:
                continue
            at.say(home, where, self.said)
            inbound = self.heard(at)
            assert inbound.place.route == where.route
            assert (inbound.sender, inbound.text) == (OWNER[self.name], "go on, please")

    def test_an_event_that_is_delivered_again_is_the_same(self, at: Stand) -> None:
        place = self.open(at, self.first_home)
        at.say(self.first_home, place, self.said)
        first = self.heard(at)  # by now what the bot hears of itself has been delivered too
        at.simulator.arm(at.name, "redeliver", count=3)
        at.say(self.first_home, place, self.said)

        later = [self.heard(at) for _ in range(4)]  # three times the first or the second, and the second
        second = max(later, key=lambda inbound: inbound.event_id)
        assert second.event_id > first.event_id
        assert all(inbound in (first, second) for inbound in later)

    def test_events_sort_as_they_were_said(self, at: Stand) -> None:
        place = self.open(at, self.first_home)
        ids = []
        for _ in range(12):
            at.say(self.first_home, place, self.said)
            ids.append(self.heard(at).event_id)

        assert len(set(ids)) == 12
        assert ids == sorted(ids)

    def test_without_its_secret_nothing_is_believed(self, at: Stand) -> None:
        home = self.first_home
        request = self.event(at, home, self.open(at, home))
        assert at.platform.verify(request, now=now())

        for name in list(at.secrets.values):
            at.secrets.values[name] = ""
        assert not at.platform.verify(request, now=now())
        assert not at.platform.verify(replace(request, headers={}), now=now())

    def test_what_is_not_signed_is_not_believed(self, at: Stand) -> None:
        home = self.first_home
        request = self.event(at, home, self.open(at, home))
        signed = [name for name in request.headers if "signature" in name or "secret" in name]
        assert signed

        for name in signed:
            given = request.headers[name]
            for forged in ({}, {name: ""}, {name: given[:-1] + "ü"}):
                others = {k: v for k, v in request.headers.items() if k != name}
                assert not at.platform.verify(replace(request, headers={**others, **forged}), now=now())
        assert not at.platform.verify(replace(request, headers={}), now=now())

    @quick
    @given(raw=st.one_of(st.binary(max_size=200), bodies))
    def test_reading_never_raises(self, raw: bytes) -> None:
        for headers in ({}, {"content-type": "application/x-www-form-urlencoded"}):
            assert isinstance(unconnected(self.name).parse(WebhookRequest(raw, headers)), Parsed)
