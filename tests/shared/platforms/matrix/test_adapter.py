"""The adapter on the simulated homeserver: what Matrix alone does."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from local.chats.matrix import CHAT, MatrixOptions
from shared.domain.routes import Place
from shared.errors import ForeignChat, PlaceGone, Rejected
from shared.platforms.matrix.adapter import Matrix
from shared.ports.inbound import Announced, Inbound
from shared.ports.platforms import Part
from shared.settings import Settings
from tests.contracts.platform.harness import PlatformHarness, now, platform_harness
from tests.shared.platforms.matrix.samples import BOT, DIRECT, HOME, OWNER, STRANGER
from tests.shared.platforms.scripted_answers import scripted
from tests.support.secrets import FakeSecrets

ROOM, PRIVATE = Place("matrix", HOME), Place("matrix", DIRECT)


@contextmanager
def harness(**options: tuple[str, ...]) -> Iterator[PlatformHarness]:
    with platform_harness(replace(CHAT, options=MatrixOptions(**options))) as at:
        yield at


def sent(at: PlatformHarness) -> list[dict[str, object]]:
    return [dict(call.arguments) for call in at.simulator.calls if "/send/" in call.name]


def test_a_message_has_html_and_mentions_no_one() -> None:
    with harness() as at:
        at.platform.send(ROOM, Part("**all** of @room, look"), key="a")

        (content,) = sent(at)
        assert content["m.mentions"] == {}
        assert content["formatted_body"] == "<p><strong>all</strong> of @\u2060room, look</p>"
        assert content["body"] == "**all** of @\u2060room, look"


def test_a_key_is_posted_as_a_digest() -> None:
    with harness() as at:
        at.platform.send(ROOM, Part("hi"), key="session-42/turn#1")

        assert "session-42" not in str(at.simulator.calls)


def test_a_copied_key_of_another_person_is_not_ours() -> None:
    with harness() as at:
        at.platform.send(ROOM, Part("hi"), key="a")
        content = sent(at)[0]

    for sender, found in ((OWNER, None), (BOT, "$1")):
        chunk = [{"event_id": "$1", "sender": sender, "content": content}]
        with scripted({"whoami": {"user_id": BOT}, "messages": {"chunk": chunk}}) as url:
            settings = Settings("h", "s", "q", platform_urls={"matrix": {"api": url}})
            platform = Matrix(settings, FakeSecrets({"matrix/bot_token": "t", "matrix/webhook_secret": "s"}))
            assert platform.find_message(ROOM, key="a") == found
            platform.close()


def test_a_deleted_root_is_a_thread_that_is_gone() -> None:
    with harness() as at:
        place = at.platform.open_thread(ROOM, "Title", key="a", people=[])
        at.simulator.remove("matrix", HOME, place.thread)

        with pytest.raises(PlaceGone, match="deleted"):
            at.platform.send(place, Part("hi"), key="b")


def test_an_encrypted_room_is_refused_with_what_to_do() -> None:
    with harness(encrypted=(HOME,)) as at:
        with pytest.raises(Rejected, match="without encryption"):
            at.platform.resolve_chat(ROOM, people=[OWNER])
        found = {one.name: one for one in at.platform.diagnose(ROOM, webhook_url="https://a.b", now=now(), seconds=9)}
        assert found["home"].ok is False
        assert "thread" not in found

        with pytest.raises(Rejected):
            at.platform.join(ROOM)
        with pytest.raises(Rejected):
            at.platform.join(ROOM)  # the notice is posted once
        assert len(at.posted(ROOM, ROOM)) == 1
        assert "cannot read encrypted" in at.posted(ROOM, ROOM)[0]["text"]
        assert [call.name for call in at.simulator.calls if call.name.endswith("/leave")]


def test_an_invitation_to_a_room_that_can_be_read_is_accepted() -> None:
    """The simulated rooms can all be read; a room whose history is open to all can be, too."""
    with harness() as at:
        at.platform.join(ROOM)

        assert [call.name for call in at.simulator.calls if call.name.endswith("/join")]


def test_a_room_that_the_bot_has_not_joined_is_refused() -> None:
    with harness() as at:
        at.simulator.remove("matrix", HOME, bot_only=True)
        for refused in (lambda: at.platform.resolve_chat(ROOM, people=[OWNER]), lambda: at.platform.join(ROOM)):
            with pytest.raises(Rejected):
                refused()


def test_an_alias_is_refused_with_where_to_find_the_id() -> None:
    with harness() as at, pytest.raises(Rejected, match="Advanced"):
        at.platform.resolve_chat(Place("matrix", "#agents:chat.test"), people=[OWNER])


def test_a_room_is_open_to_its_members_only() -> None:
    with harness() as at:
        with pytest.raises(Rejected, match="Join it"):
            at.platform.resolve_chat(ROOM, people=["@eve:chat.test"])
        with pytest.raises(ForeignChat):
            at.platform.resolve_chat(PRIVATE, people=[STRANGER])


def test_private_is_the_person_and_the_bot_alone() -> None:
    with harness() as at:
        assert at.platform.is_private(PRIVATE, person=OWNER)
        assert not at.platform.is_private(PRIVATE, person=STRANGER)
        assert not at.platform.is_private(ROOM, person=OWNER)


def test_an_announced_message_is_fetched() -> None:
    with harness() as at:
        said = at.simulator.say("matrix", HOME, "hi")
        ours = at.platform.send(ROOM, Part("ours"), key="a")

        found = at.platform.fetch(Announced(ROOM, said, OWNER))
        assert isinstance(found, Inbound)
        assert (found.text, found.sender, found.place) == ("hi", OWNER, ROOM)
        assert at.platform.fetch(Announced(ROOM, ours, None)) is None
        assert at.platform.fetch(Announced(ROOM, "$unknown", OWNER)) is None
        request = at.receiver.next()
        assert said.encode() in request.body
        assert found.event_id.endswith(said)  # as in the transaction


def test_the_bot_knows_its_own_id() -> None:
    with harness() as at:
        assert at.platform.is_me(BOT)
        assert not at.platform.is_me(OWNER)


def test_a_link_names_a_server_that_knows_the_room() -> None:
    with harness() as at:
        at.platform._urls = replace(at.platform._urls, link="https://matrix.to/#")  # type: ignore[attr-defined]
        assert at.platform.link(Place("matrix", HOME, "$a")) == f"https://matrix.to/#/{HOME}/$a?via=chat.test"


def test_a_pusher_to_this_service_is_found() -> None:
    with harness(pushers=("https://a.b/_matrix/push/v1/notify", "https://c.d/_matrix/push/v1/notify")) as at:
        for url, ok in (("https://a.b/webhooks/matrix", True), ("https://x.y/webhooks/matrix", None)):
            found = at.platform.diagnose(None, webhook_url=url, now=now(), seconds=9)
            assert next(one.ok for one in found if one.name == "webhook") is ok
