"""What a contract test of platforms has at hand: the platform's name, its homes by kind, and a simulated world."""

from collections.abc import Callable, Iterator

import pytest

from shared.domain.routes import Place
from shared.ports.inbound import Inbound, WebhookRequest
from tests.contracts.platform_contract_stand import Stand, now, stand
from tests.support.webhooks import message_in

OWNER = {"telegram": "7001", "slack": "U7001", "discord": "7001000000000000001"}
TITLE = "Handoff — Fix *the* <build> & go"


class PlatformCase:
    """A subclass names the platform and its kinds of homes: those that hold threads, and those that do not."""

    name: str
    homes: tuple[str, ...]
    threadless: tuple[str, ...] = ()
    measure: Callable[[str], int] = staticmethod(len)  # how the platform counts towards its limit
    # What would call people; homes where nobody speaks outside a thread; what to type so that "go on, please" is heard.
    calls: tuple[str, ...] = ("@everyone", "@here", "<!here>", "<!channel>", "<@U7002>", "<@7002000000000000002>")
    threads_only: tuple[str, ...] = ()
    said = "go on, please"

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        for argument, chats in {"home": self.homes, "threadless": self.threadless}.items():
            if argument in metafunc.fixturenames:
                metafunc.parametrize(argument, [Place(self.name, chat) for chat in chats], ids=chats)
        if "call" in metafunc.fixturenames:
            metafunc.parametrize("call", self.calls)

    @pytest.fixture
    def at(self) -> Iterator[Stand]:
        with stand(self.name) as made:
            yield made

    @property
    def first_home(self) -> Place:
        return Place(self.name, self.homes[0])

    def open(self, at: Stand, home: Place, key: str = "handoff-1") -> Place:
        return at.platform.open_thread(home, TITLE, key=key, people=[OWNER[self.name]])

    def heard(self, at: Stand) -> Inbound:
        """The next thing that a person said; what the bot hears of itself must be ignored on the way."""
        while True:
            request = at.hear()
            assert at.platform.verify(request, now=now())
            parsed = at.platform.parse(request)
            if parsed.events:
                return message_in(parsed)
            assert parsed.ignored

    def event(self, at: Stand, home: Place, place: Place) -> WebhookRequest:
        """A person's words as the platform posts them."""
        at.say(home, place, self.said)
        while True:
            request = at.hear()
            if at.platform.parse(request).events:
                return request
