"""Chats by their ids: one form for each, and private ones only for their own people."""

from urllib.parse import urlsplit

import pytest

from local.chats.spec import SeededChat
from shared.domain.links import code_in_command, code_in_words
from shared.domain.routes import Place
from shared.errors import ForeignChat, Rejected
from tests.contracts.platform.case import PlatformTests
from tests.contracts.platform.harness import PlatformHarness


class Places(PlatformTests):
    """The chat that the platform understands by a text, and for whom."""

    def test_an_id_resolves_to_itself_for_its_people(self, at: PlatformHarness) -> None:
        for chat in self.chat.chats:
            people = [self.chat.people[key] for key in chat.people]

            resolved = at.platform.resolve_chat(Place(at.name, chat.id), people=people)

            assert (resolved.place, resolved.private) == (Place(at.name, chat.id), len(people) == 1)

    def test_a_private_chat_is_refused_to_others(self, at: PlatformHarness) -> None:
        for chat, others in self._private():
            for people in (others, []):
                with pytest.raises(ForeignChat):
                    at.platform.resolve_chat(Place(at.name, chat.id), people=people)

    def test_no_spelling_of_an_id_opens_a_private_chat(self, at: PlatformHarness) -> None:
        before = at.simulator.state()
        for chat, others in self._private():
            for text in spellings(chat, self.chat.people[chat.people[0]]):
                with pytest.raises(Rejected):
                    at.platform.resolve_chat(Place(at.name, text), people=others)
        assert at.simulator.state() == before

    def test_no_spelling_leads_to_a_second_place(self, at: PlatformHarness) -> None:
        """A session is found by its place: one chat must not be two."""
        for chat in self.chat.chats:
            people = [self.chat.people[key] for key in chat.people]
            for text in spellings(chat, people[0]):
                try:
                    resolved = at.platform.resolve_chat(Place(at.name, text), people=people)
                except Rejected:
                    continue
                assert resolved.place.chat in {seeded.id for seeded in self.chat.chats}, text

    def test_a_link_is_made_while_the_platform_is_down(self, at: PlatformHarness, home: Place) -> None:
        at.simulator.stop()

        assert at.platform.link(home)

    def test_a_pairing_code_is_sent_as_the_service_reads_it(self, at: PlatformHarness) -> None:
        pairing = at.platform.pairing("ABCD-EFGH")

        assert "ABCDEFGH" in (code_in_command(pairing.text), code_in_words(pairing.text))
        assert not pairing.url or urlsplit(pairing.url).scheme in ("http", "https", "tg")

    def test_a_pairing_needs_no_answer_of_the_platform(self, at: PlatformHarness) -> None:
        at.simulator.stop()

        assert "ABCD-EFGH" in at.platform.pairing("ABCD-EFGH").text

    def _private(self) -> list[tuple[SeededChat, list[str]]]:
        """The private chats, each with the accounts of the other people."""
        people = self.chat.people
        found = [
            (chat, [people[key] for key in ("owner", "stranger") if key not in chat.people])
            for chat in self.chat.chats
            if len(chat.people) == 1
        ]
        assert len(found) > 1
        return found


def spellings(chat: SeededChat, person: str) -> list[str]:
    """Texts that a lenient server may read as this chat, or as the private chat of this person."""
    texts = []
    for known in (chat.id, person):
        texts += [f"0{known}", f"00{known}", f"{known}x", f"{known} ", f" {known}", f"{known}\n", f"+{known}"]
        texts += [f"{known}.0", f"{known}/", f"./{known}", f"%{ord(known[0]):x}{known[1:]}", f"{known}\u0000"]
        texts += [known.swapcase(), "".join(chr(ord(c) + 0xFEE0) for c in known), f"@{known}", f"#{known}"]
        if known.isdigit():
            texts += [str(2**64 + int(known)), hex(int(known)), f"{known[0]}_{known[1:]}", f"-0{known}"]
    return [*texts, chat.title, f"#{chat.title}", "", " ", "0", "..", "@me"]
