"""Presses of buttons, from the chat through the webhook function to the answer that only the person sees."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from local.service import LocalService
from shared.domain.routes import Place
from shared.platforms.registry import PlatformRegistry
from shared.ports.platforms import Button, Part, Platform
from shared.settings import Settings
from tests.support.platform_cases import BUTTONED, HOMES, SHARED, SHARED_CHATS, THREADED
from tests.support.secrets import FakeSecrets
from tests.support.waiting import eventually

TOLD = "This is no longer asked."


@pytest.fixture(params=BUTTONED)
def bot(request: pytest.FixtureRequest, service: LocalService) -> Iterator[Platform]:
    """The bot itself: what it asks here is no question of the service."""
    simulator = service.simulator
    urls = {request.param: {"api": simulator.api_url(request.param)}}
    settings = Settings("handoffs", "sessions", "queue", platform_urls=urls)
    platform = PlatformRegistry(settings, FakeSecrets(simulator.secrets)).get(request.param)
    yield platform
    if close := getattr(platform, "close", None):
        close()


def answers(service: LocalService, platform: str, chat_id: str, message_id: str) -> list[dict[str, str]]:
    (chat,) = [c for c in service.simulator.state()["platforms"][platform]["chats"] if c["id"] == chat_id]
    places: list[dict[str, Any]] = [chat, *chat["threads"]]
    (message,) = [m for place in places for m in place["messages"] if m["id"] == message_id]
    found: list[dict[str, str]] = message.get("acknowledged", [])
    return found


def test_only_the_known_person_who_pressed_is_answered(service: LocalService, bot: Platform) -> None:
    home = Place(bot.name, SHARED_CHATS.get(bot.name, HOMES[bot.name]))
    key = uuid.uuid4().hex
    place = bot.open_thread(home, "Buttons", key=key, people=[]) if bot.name in THREADED else home
    message = bot.send(place, Part("May I?", buttons=(Button(f"go-{key}", "Go"),)), key=f"{key}#0")
    thread = place.thread or place.chat

    for user in ("stranger", "owner") if bot.name in SHARED else ("owner",):
        service.simulator.press(bot.name, home.chat, message, f"go-{key}", thread=thread, user=user)

    eventually(lambda: {"to": "owner", "text": TOLD} in answers(service, bot.name, home.chat, message))
    assert answers(service, bot.name, home.chat, message) == [{"to": "owner", "text": TOLD}]
