"""Messages with more than the sender's own text: what cannot be fetched, and forwarded words. files.py has files."""

from local.chats.simulator.files import SAMPLES
from local.chats.simulator.protocol import Wire
from local.chats.spec import LocalChat, load
from shared.domain.attachments import Attachment
from shared.domain.routes import Place
from tests.contracts.platform.case import PlatformTests
from tests.contracts.platform.harness import MESSAGE, PlatformHarness


class Attachments(PlatformTests):
    """What a platform can carry is named by its kind."""

    def place(self, at: PlatformHarness) -> Place:
        place = self.open(at, self.first_home)
        at.listen()
        return place

    def test_a_message_without_text_names_what_it_holds(self, at: PlatformHarness) -> None:
        place = self.place(at)
        kinds = wire_of(self.chat).attachments
        assert {"picture", "file", "voice"} <= set(kinds)
        for kind in kinds:
            at.write(self.first_home, place, "", attachments=[kind])
            said = at.next_message()
            assert (said.place, said.sender) == (place, self.chat.people["owner"])
            assert (said.text, said.forwarded) == ("", "")
            assert [file.kind for file in said.files] == ([kind] if kind in SAMPLES else [])
            assert said.attachments == (() if kind in SAMPLES else (Attachment(kind),))

    def test_the_text_beside_a_picture_is_the_senders(self, at: PlatformHarness) -> None:
        at.write(self.first_home, self.place(at), MESSAGE, attachments=["picture"])

        said = at.next_message()
        assert (said.text, said.forwarded, said.attachments) == (MESSAGE, "", ())
        assert [file.kind for file in said.files] == ["picture"]

    def test_several_pictures_are_named_with_one_text(self, at: PlatformHarness) -> None:
        """In one message, or in several: then in one album where the platform tells that."""
        place = self.place(at)
        at.write(self.first_home, place, MESSAGE, attachments=["picture"] * 3)

        said = [at.next_message()]
        while sum(len(one.files) for one in said) < 3:
            said.append(at.next_message())
        assert [one.text for one in said] == [MESSAGE] + [""] * (len(said) - 1)
        assert len({one.event_id for one in said}) == len(said)
        assert len({file.reference for one in said for file in one.files}) == 3
        assert {file.kind for one in said for file in one.files} == {"picture"}
        assert len({one.album for one in said}) == 1


class Forwards(Attachments):
    """Where the platform tells what was forwarded, it is told from the sender's own words."""

    def test_forwarded_words_are_not_the_senders(self, at: PlatformHarness) -> None:
        place = self.place(at)
        at.write(self.first_home, place, "/stop", forwarded=True)
        words = at.next_message()
        at.write(self.first_home, place, "/stop", attachments=["picture"], forwarded=True)
        below = at.next_message()

        assert (words.text, words.addressee, words.forwarded, words.attachments) == ("", None, "/stop", ())
        assert (below.text, below.forwarded, [file.kind for file in below.files]) == ("", "/stop", ["picture"])


def wire_of(chat: LocalChat) -> type[Wire]:
    """The simulated protocol, which says what people can send."""
    wire: type[Wire] = load(chat.wire)
    return wire
