"""A notice for the home chat: posted once, whatever dies in between, and at most one a minute."""

from typing import Any

import pytest

from shared.domain.routes import Place
from shared.errors import NoHome, TooManyNotices, UnknownPlatform
from shared.store.bundle import store_on
from shared.use_cases.people.post_notice import Posted, post_notice
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import HOME, USER, World


@pytest.fixture
def world() -> World:
    return World(store_on(MemoryTables()))


def _post(world: World, key: str | None = "k", **more: Any) -> Posted:
    return post_notice(world.services, USER, "**api** is done.", idempotency_key=key, **more)


def _said(world: World) -> list[str]:
    while world.turn():
        pass
    return world.platform.said(HOME)


def test_it_appears_in_the_home_chat(world: World) -> None:
    posted = _post(world)
    assert (posted.home, posted.link) == (HOME, world.platform.link(HOME))
    assert _said(world) == ["**api** is done."]


def test_a_retry_posts_nothing_twice(world: World) -> None:
    assert _post(world) == _post(world)
    assert len(_said(world)) == 1
    world.wait(400)  # longer than a queue remembers
    _post(world)
    assert len(_said(world)) == 1


def test_a_process_that_dies_before_the_queue_leaves_the_notice_to_the_retry(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(world.queue, "send", _dies)
        with pytest.raises(ConnectionError):
            _post(world)
    _post(world)
    assert len(_said(world)) == 1


def _dies(*_: object, **__: object) -> None:
    raise ConnectionError


def test_a_second_notice_waits_a_minute(world: World) -> None:
    _post(world, None)
    with pytest.raises(TooManyNotices) as refused:
        _post(world, None)
    assert refused.value.retry_after == 60
    world.wait(60)
    _post(world, None)
    assert len(_said(world)) == 2


def test_a_user_without_a_home_loses_no_minute(world: World) -> None:
    with pytest.raises(NoHome, match="handoff link PLATFORM"):
        post_notice(world.services, "bert", "hi")
    world.store.accounts.set_home("bert", Place("chat", "b"))
    post_notice(world.services, "bert", "hi")
    with pytest.raises(UnknownPlatform):
        post_notice(world.services, "bert", "hi", platform="pigeon")
