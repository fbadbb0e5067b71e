"""`/sethome`: the platform checks the chat before it becomes a home."""

import pytest

from shared.domain.routes import Place
from shared.errors import Rejected
from shared.ports.platforms import ResolvedChat
from tests.support.use_case_world import HOME, World


def test_a_chat_that_the_platform_refuses_is_no_home(world: World) -> None:
    before = world.store.accounts.home("ada", "chat")
    world.platform.next["resolve_chat"].append(Rejected("the room is encrypted"))

    world.say(HOME, "/sethome", "0001")
    world.turns()

    assert world.platform.said(HOME) == ["This chat cannot be your home: the room is encrypted."]
    assert world.store.accounts.home("ada", "chat") == before


def test_the_home_is_stored_as_the_platform_names_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    canonical = Place("chat", "the-same-chat")
    monkeypatch.setattr(world.platform, "resolve_chat", lambda *_, **__: ResolvedChat(canonical))

    world.say(HOME, "/sethome", "0001")
    world.turns()

    assert world.store.accounts.home("ada", "chat") == canonical
