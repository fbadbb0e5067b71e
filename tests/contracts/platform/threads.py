"""Threads: opening and finding them, and homes that cannot hold any."""

import pytest

from shared.domain.routes import Place
from shared.errors import PlaceGone, ThreadRefused
from shared.ports.platforms import Part
from tests.contracts.platform.case import TITLE, PlatformTests
from tests.contracts.platform.harness import PlatformHarness, now


class Threads(PlatformTests):
    """For platforms with threads."""

    def test_each_call_opens_another_thread(self, at: PlatformHarness, home: Place) -> None:
        first, second = self.open(at, home, "one"), self.open(at, home, "two")

        assert first != second
        assert home not in (first, second)
        at.platform.send(first, Part("hello"), key="a")
        assert [message["text"] for message in at.posted(home, first)][-1] == "hello"
        assert [message["text"] for message in at.posted(home, second)].count("hello") == 0

    def test_a_thread_has_the_title(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        at.platform.send(place, Part("hello"), key="a")

        assert any("Fix" in title and "Handoff" in title for title in at.thread_titles(home))

    def test_a_title_over_the_limit_is_cut(self, at: PlatformHarness, home: Place) -> None:
        place = at.platform.open_thread(home, "👩‍👩‍👧 long " * 200 + "\n@everyone", key="long", people=[])
        at.platform.send(place, Part("hello"), key="a")

        [title] = at.thread_titles(home)
        assert place != home
        assert "👩‍👩‍👧 long 👩‍👩‍👧 long" in title
        assert len(title) <= self.chat.title_limit

    def test_a_thread_is_closed_where_the_platform_can(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        at.platform.send(place, Part("hello"), key="a")
        for _ in range(2):
            at.platform.close_thread(place)
        at.platform.close_thread(home)
        assert [message["text"] for message in at.posted(home, place)][-1] == "hello"

    def test_people_who_would_not_see_a_thread_are_named_in_it(self, at: PlatformHarness, home: Place) -> None:
        kind = next(chat.kind for chat in self.chat.chats if chat.id == home.chat)
        if not self.chat.kinds[kind].names_people:
            return
        person = self.chat.people["stranger"]

        place = at.platform.open_thread(home, TITLE, key="handoff-1", people=[person])

        assert at.is_notified(home, place, "stranger")
        assert not at.is_notified(home, place, "owner")

    def test_a_key_that_another_person_has_copied_leads_to_no_thread(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        if at.platform.find_thread(home, key="handoff-1") is None or not at.starts_with_a_message(home, place):
            return
        at.simulator.forge(at.name, home.chat, str(place.thread or place.chat))

        assert at.platform.find_thread(home, key="handoff-1") is None

    def test_no_thread_opens_in_a_chat_that_is_gone(self, at: PlatformHarness, home: Place) -> None:
        at.simulator.remove(at.name, home.chat)

        with pytest.raises(PlaceGone):
            self.open(at, home)

    def test_a_thread_is_found_by_its_key_where_that_is_possible(self, at: PlatformHarness, home: Place) -> None:
        assert at.platform.find_thread(home, key="handoff-1") is None
        place = self.open(at, home)

        can = at.platform.capabilities
        assert at.platform.find_thread(home, key="handoff-1") == (place if can.key or can.readback else None)
        assert at.platform.find_thread(home, key="handoff-2") is None

    def test_nothing_is_posted_outside_a_deleted_thread(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)
        at.platform.send(place, Part("first"), key="a")
        at.simulator.remove(at.name, home.chat, place.thread or place.chat)
        before = at.outside_threads(home)

        with pytest.raises(PlaceGone):
            at.platform.send(place, Part("hello"), key="b")

        assert at.outside_threads(home) == before

    def test_a_link_opens_the_thread_on_the_page(self, at: PlatformHarness, home: Place) -> None:
        place = self.open(at, home)

        assert at.platform.link(place) == at.simulator.link_url(at.name, home.chat, place.thread or place.chat)


class Threadless(PlatformTests):
    """For homes without threads on a platform with threads: the home itself is the place."""

    def test_a_refusal_explains_why_no_thread_can_open(self, at: PlatformHarness, threadless: Place) -> None:
        with pytest.raises(ThreadRefused) as refused:
            self.open(at, threadless)

        assert len(str(refused.value).split()) > 3
        assert at.outside_threads(threadless) == []

    def test_a_home_without_threads_accepts_messages(self, at: PlatformHarness, threadless: Place) -> None:
        at.platform.send(threadless, Part("hello"), key="a")

        assert at.outside_threads(threadless) == ["hello"]

    def test_messages_in_it_come_from_the_home_itself(self, at: PlatformHarness, threadless: Place) -> None:
        at.write(threadless, threadless)

        assert at.next_message().place.route == threadless.route

    def test_the_diagnosis_reports_the_missing_threads(self, at: PlatformHarness, threadless: Place) -> None:
        found = at.platform.diagnose(threadless, webhook_url=at.webhook_url, now=now(), seconds=15)

        assert {finding.name: finding.ok for finding in found if finding.name in ("home", "thread")} == {
            "home": True,
            "thread": False,
        }
