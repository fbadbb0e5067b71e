"""The CLI on a service that holds requests: it asks, waits for the answers, and never sleeps in between."""

import io
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest

from handoff_cli.api.client import Service
from handoff_cli.chat.conversation import Conversation
from handoff_cli.chat.turn import take_turn
from handoff_cli.config.sources import Configuration
from handoff_cli.context import Context
from handoff_cli.errors import StillRunning
from handoff_cli.handoff.follow import Follower, Patience
from handoff_cli.ui.terminal import Terminal
from local.server.service import Server
from tests.support.api_user import ApiUser


class Client:
    """A context that notes sleeps, and a service that notes requests."""

    def __init__(self, server: Server, directory: Path) -> None:
        self.slept: list[float] = []
        self.screen = io.StringIO()
        terminal = Terminal(self.screen, self.screen, environ={})
        self.context = Context(Namespace(), terminal, {}, directory, sleep=self._sleep)
        self.service = Service(Configuration(server.url, server.tokens["owner"], "test", "test"))

    def _sleep(self, seconds: float) -> None:
        if seconds > 0:
            self.slept.append(seconds)


@pytest.fixture
def client(server: Server, tmp_path: Path) -> Iterator[Client]:
    made = Client(server, tmp_path)
    with made.service:
        yield made


def test_a_handoff_is_followed_without_a_sleep(client: Client, user: ApiUser) -> None:
    requested = user.request_handoff(user.create_session()).json()

    ended = Follower(client.context, client.service).follow(requested, Patience())

    assert (ended["state"], client.slept) == ("completed", [])
    assert "session moved" in client.screen.getvalue()


def test_patience_limits_how_long_a_request_is_held(client: Client, server: Server, user: ApiUser) -> None:
    server.simulator.arm("telegram", "rate_limit", 1, on="open_thread", seconds=60.0)
    requested = user.request_handoff(user.create_session()).json()

    with pytest.raises(StillRunning):
        Follower(client.context, client.service).follow(requested, Patience.of(0.3))

    user.http.delete(f"/handoffs/{requested['id']}")


def test_the_reply_to_a_turn_is_shown_without_a_sleep(client: Client) -> None:
    take_turn(client.context, Conversation(client.service, cwd="/work"), "hello there")

    assert "hello there" in client.screen.getvalue()
    assert client.slept == []
