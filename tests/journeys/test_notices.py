"""A notice appears in the home chat, on both engines."""

from collections.abc import Iterator

import httpx
import pytest

from tests.support.engines import ENGINES, started
from tests.support.service import Service
from tests.support.waiting import eventually


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with started(request.param, lambda: tmp_path_factory.mktemp("data")) as running:
        yield running.service


def _said(service: Service, chat: str) -> list[str]:
    chats = service.simulator.state()["platforms"]["telegram"]["chats"]
    return [message["text"] for each in chats if each["id"] == chat for message in each["messages"]]


def test_a_notice_is_posted_once(engine: Service) -> None:
    headers = {"Authorization": f"Bearer {engine.tokens['owner']}"}
    with httpx.Client(base_url=engine.url, headers=headers, timeout=30) as http:
        body = {"text": "`api`: Claude Code is **done**.", "platform": "telegram"}
        answers = [http.post("/notices", json=body, headers={"Idempotency-Key": "n-1"}) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [202, 202]
        chat = answers[0].json()["chat"]
        eventually(lambda: "api: Claude Code is done." in _said(engine, chat), show=lambda: _said(engine, chat))
        assert http.post("/notices", json={"text": "and this one"}).status_code == 429
    assert _said(engine, chat).count("api: Claude Code is done.") == 1
    assert "and this one" not in _said(engine, chat)
