"""The base of all contract tests: the platform under test, its chats by kind, and the harness."""

from collections.abc import Iterator

import pytest

from local.chats.spec import LocalChat, SeededChat
from shared.domain.routes import Place
from tests.contracts.platform.harness import PlatformHarness, platform_harness

TITLE = "Handoff — Fix *the* <build> & go"


class PlatformTests:
    """A subclass sets `chat`. Tests with the argument `home`, `threadless` or `mention` run once for each of them."""

    chat: LocalChat

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        for argument, chats in {"home": homes(self.chat), "threadless": threadless_homes(self.chat)}.items():
            if argument in metafunc.fixturenames:
                places = [Place(self.chat.name, chat.id) for chat in chats]
                metafunc.parametrize(argument, places, ids=[chat.kind for chat in chats])
        if "mention" in metafunc.fixturenames:
            metafunc.parametrize("mention", self.chat.mentions)

    @pytest.fixture
    def at(self) -> Iterator[PlatformHarness]:
        with platform_harness(self.chat) as harness:
            yield harness

    @property
    def first_home(self) -> Place:
        return Place(self.chat.name, homes(self.chat)[0].id)

    def open(self, at: PlatformHarness, home: Place, key: str = "handoff-1") -> Place:
        """A new thread in the home, or the home itself on a platform without threads."""
        if not self.chat.spec.threads:
            return home
        return at.platform.open_thread(home, TITLE, key=key, people=[self.chat.people["owner"]])


def homes(chat: LocalChat) -> list[SeededChat]:
    """One chat of each kind that holds threads; on a platform without threads, one of each kind."""
    return [one for one in _one_per_kind(chat) if chat.kinds[one.kind].threads or not chat.spec.threads]


def threadless_homes(chat: LocalChat) -> list[SeededChat]:
    """One chat of each kind that cannot hold threads, on a platform with threads."""
    return [one for one in _one_per_kind(chat) if chat.spec.threads and not chat.kinds[one.kind].threads]


def _one_per_kind(chat: LocalChat) -> list[SeededChat]:
    return list({one.kind: one for one in reversed(chat.chats) if "owner" in one.people}.values())[::-1]
