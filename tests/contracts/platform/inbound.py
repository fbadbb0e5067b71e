"""Webhooks from the platform: verification and parsing."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.routes import Place
from shared.platforms import PLATFORMS
from shared.ports.inbound import Parsed, WebhookRequest
from shared.ports.platforms import Part
from tests.contracts.platform.case import PlatformTests
from tests.contracts.platform.harness import MESSAGE, PlatformHarness, now, unconnected
from tests.contracts.platform.rendering import quick

_keys = st.sampled_from(["message", "event", "type", "from", "chat", "id", "text", "t", "d", "author", "data", "ts"])
_leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=10)
bodies = st.recursive(
    _leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=5), max_leaves=20
).map(lambda value: json.dumps(value).encode())


class Inbound(PlatformTests):
    """Verify and parse the webhooks that the simulator sends."""

    def test_a_message_comes_from_the_place_it_was_written_in(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        at.platform.send(place, Part("hello"), key="a")
        kind = next(chat.kind for chat in self.chat.chats if chat.id == home.chat)

        for where in [place, home] if self.chat.kinds[kind].accepts_messages else [place]:
            at.write(home, where)
            inbound = at.next_message()
            assert inbound.place.route == where.route
            assert (inbound.sender, inbound.text) == (self.chat.people["owner"], MESSAGE)

    def test_a_message_tells_when_it_was_written(self, at: PlatformHarness) -> None:
        before = now()
        at.write(self.first_home, self.open(at, self.first_home))
        written_at = at.next_message().written_at
        if self.chat.spec in PLATFORMS or written_at is not None:
            assert before - 1000 <= (written_at or 0) <= now() + 1000  # some count in seconds

    def test_it_is_known_whether_the_chat_of_a_message_is_private(self, at: PlatformHarness) -> None:
        for chat in self.chat.chats:
            if "owner" not in chat.people or not self.chat.kinds[chat.kind].accepts_messages:
                continue
            home = Place(at.name, chat.id)
            at.write(home, home)
            inbound = at.next_message()
            if at.platform.capabilities.tells_private:
                private = inbound.private
            else:
                private = at.platform.is_private(home, person=inbound.sender)
            assert private is (chat.people == ("owner",))

    def test_a_redelivered_event_is_the_same_event(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        at.write(self.first_home, place)
        first = at.next_message()  # the webhooks of the bot's own messages were delivered before it
        at.arm("redeliver", count=3)
        at.write(self.first_home, place)

        later = [at.next_message() for _ in range(4)]  # three redeliveries of the first or the second, and the second
        second = max(later, key=lambda inbound: inbound.event_id)
        assert second.event_id > first.event_id
        assert all(inbound in (first, second) for inbound in later)

    def test_events_sort_in_the_order_of_writing(self, at: PlatformHarness) -> None:
        place = self.open(at, self.first_home)
        ids = []
        for _ in range(12):
            at.write(self.first_home, place)
            ids.append(at.next_message().event_id)

        assert len(set(ids)) == 12
        assert ids == sorted(ids)

    def test_the_platform_accepts_the_address_of_the_webhook(self, at: PlatformHarness) -> None:
        at.answer_handshakes()
        assert at.simulator.verify(at.name).ok

    def test_without_secrets_nothing_is_verified(self, at: PlatformHarness) -> None:
        home = self.first_home
        request = at.write_and_receive(home, self.open(at, home))
        assert at.platform.verify(request, now=now())

        for name in list(at.secrets.values):
            at.secrets.values[name] = ""
        assert not at.platform.verify(request, now=now())
        assert not at.platform.verify(replace(request, headers={}), now=now())

    def test_a_forged_signature_is_not_verified(self, at: PlatformHarness) -> None:
        """Of headers and body, or a secret in one of them."""
        home = self.first_home
        request = at.write_and_receive(home, self.open(at, home))
        signed = [
            name
            for name, value in request.headers.items()
            if not at.platform.verify(replace(request, headers={**request.headers, name: f"{value}x"}), now=now())
        ]
        inside = [secret for secret in at.secrets.values.values() if secret.encode() in request.body]
        assert signed or inside

        for name in signed:
            others = {other: value for other, value in request.headers.items() if other != name}
            for forged in ({}, {name: ""}, {name: request.headers[name][:-1] + "ü"}):
                assert not at.platform.verify(replace(request, headers={**others, **forged}), now=now())
        if signed:
            assert not at.platform.verify(replace(request, headers={}), now=now())
            return
        bodies = [request.body.replace(secret.encode(), b"") for secret in inside]
        bodies += [request.body.replace(secret.encode(), f"{secret[:-1]}ü".encode()) for secret in inside]
        for body in (*bodies, b"", b"{}", b"[]", b"null", request.body[:-1]):
            assert not at.platform.verify(replace(request, body=body), now=now())

    @quick
    @given(raw=st.one_of(st.binary(max_size=200), bodies))
    def test_parsing_never_raises(self, raw: bytes) -> None:
        for headers in ({}, {"content-type": "application/x-www-form-urlencoded"}):
            assert isinstance(unconnected(self.chat).parse(WebhookRequest(raw, headers)), Parsed)
