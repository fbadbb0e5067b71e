"""Threads and words on their way out."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.domain.routes import Place
from shared.errors import PlaceGone, Rejected
from shared.ports.platforms import Part
from tests.contracts.platform_contract_case import PlatformCase
from tests.contracts.platform_contract_stand import Stand


class Outbound(PlatformCase):
    """Open, send, edit, type, link."""

    def test_a_fresh_thread_opens_at_home(self, at: Stand, home: Place) -> None:
        first, second = self.open(at, home, "one"), self.open(at, home, "two")

        assert first != second
        assert home not in (first, second)
        at.platform.send(first, Part("hello"), key="a")
        assert [message["text"] for message in at.posted(home, first)][-1] == "hello"
        assert [message["text"] for message in at.posted(home, second)].count("hello") == 0

    def test_a_thread_carries_the_title(self, at: Stand, home: Place) -> None:
        place = self.open(at, home)
        at.platform.send(place, Part("hello"), key="a")

        assert any("Fix" in title and "Handoff" in title for title in at.titles(home))

    def test_a_title_beyond_all_measure_still_opens_a_thread(self, at: Stand, home: Place) -> None:
        place = at.platform.open_thread(home, "👩‍👩‍👧 long " * 200 + "\n@everyone", key="long", people=[])

        assert place != home

    def test_a_chat_that_is_not_there_is_gone(self, at: Stand, home: Place) -> None:
        at.simulator.remove(at.name, home.chat)

        with pytest.raises(PlaceGone):
            self.open(at, home)

    def test_a_thread_whose_making_was_not_answered_is_found_or_left_to_the_journal(
        self, at: Stand, home: Place
    ) -> None:
        assert at.platform.find_thread(home, key="handoff-1") is None
        place = self.open(at, home)

        assert at.platform.find_thread(home, key="handoff-1") in ({None} if self.name == "telegram" else {place})
        assert at.platform.find_thread(home, key="handoff-2") is None

    def test_a_message_can_be_sent_and_edited_and_edited_again_to_the_same(self, at: Stand, home: Place) -> None:
        place = self.open(at, home)
        first, second = at.platform.render("a **bold** word")[0], at.platform.render("`another` word")[0]

        message = at.platform.send(place, first, key="a")
        for _ in range(2):
            at.platform.edit(place, message, second)

        last = at.posted(home, place)[-1]
        assert (last["id"], last["text"]) == (message, second.text)

    def test_an_edit_of_a_message_that_is_not_there_is_refused(self, at: Stand, home: Place) -> None:
        place = self.open(at, home)

        with pytest.raises(Rejected):
            at.platform.edit(place, "1700000000.000001" if self.name == "slack" else "999999", Part("x"))

    def test_a_long_reply_arrives_complete_and_in_order(self, at: Stand, home: Place) -> None:
        table = "| file | size |\n|---|---:|\n" + "\n".join(f"| f{n}.py | {n} 🚀 |" for n in range(30))
        code = "````md\n" + "\n".join(f"```py\nx{n} = {n}\n```" for n in range(60)) + "\n````"
        section = f"## Part 👩‍👩‍👧‍👦\n\nSome **bold** words, naïve.\n\n{table}\n\n{code}\n\n- one\n- two\n\n"
        reply = (section * 20)[:20_000]
        place = self.open(at, home)
        before = len(at.posted(home, place))

        parts = at.platform.render(reply)
        for number, part in enumerate(parts):
            at.platform.send(place, part, key=f"turn#{number}")

        arrived = [message["text"] for message in at.posted(home, place)][before:]
        assert arrived == [part.text for part in parts]
        assert sum(text.count("naïve") for text in arrived) == reply.count("naïve")
        assert all(any(f"x{n} = {n}" in text for text in arrived) for n in range(60))
        assert all(any(f"f{n}.py" in text for text in arrived) for n in range(30))

    def test_typing_never_raises(self, at: Stand, home: Place) -> None:
        place = self.open(at, home)
        at.platform.typing(place)
        for kind in ("rate_limit", "reset", "forbidden"):
            at.simulator.arm(at.name, kind, on="typing", seconds=77)
            at.platform.typing(place)
        at.platform.typing(home)
        at.platform.typing(Place(self.name, "404"))
        at.simulator.stop()
        at.platform.typing(place)

    def test_several_threads_may_call_at_once(self, at: Stand) -> None:
        home = self.first_home
        place = self.open(at, home)

        with ThreadPoolExecutor(8) as pool:
            sent = list(pool.map(lambda n: at.platform.send(place, Part(f"word {n}"), key=f"k{n}"), range(24)))

        assert len(set(sent)) == 24
        assert {f"word {n}" for n in range(24)} <= {message["text"] for message in at.posted(home, place)}

    def test_a_link_leads_to_the_thread_on_the_page(self, at: Stand, home: Place) -> None:
        place = self.open(at, home)

        assert at.platform.link(place) == at.simulator.link_url(at.name, home.chat, place.thread or place.chat)
        assert at.platform.link(home) == at.simulator.link_url(at.name, home.chat)
