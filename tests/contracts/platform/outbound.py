"""Messages to people: sending, editing, typing, links."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.domain.routes import Place
from shared.errors import Rejected
from shared.ports.platforms import Part
from tests.contracts.platform.case import PlatformTests
from tests.contracts.platform.harness import PlatformHarness


class Edits(PlatformTests):
    """For platforms on which messages can be edited."""

    def test_a_message_is_edited_and_an_equal_edit_succeeds(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        first, second = at.platform.render("a **bold** word")[0], at.platform.render("`another` word")[0]

        message = at.platform.send(place, first, key="a")
        for _ in range(2):
            at.platform.edit(place, message, second)

        last = at.posted(home, place)[-1]
        assert (last["id"], last["text"]) == (message, second.text)

    def test_an_edit_of_an_unknown_message_is_rejected(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        message = at.platform.send(place, Part("hello"), key="a")

        with pytest.raises(Rejected):
            at.platform.edit(place, re.sub(r"\d", "9", message), Part("x"))


class NoEdits(PlatformTests):
    """A platform without edits refuses them."""

    def test_an_edit_is_rejected_and_changes_nothing(self, at: PlatformHarness, home: Place) -> None:
        message = at.platform.send(home, Part("hello"), key="a")
        before = at.simulator.state()

        with pytest.raises(Rejected):
            at.platform.edit(home, message, Part("x"))

        assert at.simulator.state() == before


class Outbound(PlatformTests):
    """Posts of the bot, in every kind of home."""

    def test_a_long_reply_arrives_complete_and_in_order(self, at: PlatformHarness, home: Place) -> None:
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

    def test_typing_never_raises(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        at.platform.typing(place)
        for kind in ("rate_limit", "reset", "forbidden"):
            at.arm(kind, on="typing", seconds=77)
            at.platform.typing(place)
        at.platform.typing(home)
        at.platform.typing(Place(at.name, "404"))
        at.simulator.stop()
        at.platform.typing(place)

    def test_several_threads_may_call_at_once(self, at: PlatformHarness) -> None:
        home = self.first_home
        place = self.open(at, home)

        with ThreadPoolExecutor(8) as pool:
            sent = list(pool.map(lambda n: at.platform.send(place, Part(f"word {n}"), key=f"k{n}"), range(24)))

        assert len(set(sent)) == 24
        assert {f"word {n}" for n in range(24)} <= {message["text"] for message in at.posted(home, place)}

    def test_a_link_opens_the_home_on_the_page(self, at: PlatformHarness, home: Place) -> None:
        assert at.platform.link(home) == at.simulator.link_url(at.name, home.chat)
