"""`/stop` while a real request to a model is open: the place is free at once, and the request is closed."""

import json
import time
from collections.abc import Iterator

import pytest

from local.service import LocalService
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.platform_cases import PLATFORMS
from tests.support.servers import HANG, HttpServer, Request, Response, json_response
from tests.support.waiting import eventually

FREE_SECONDS = 2.0
CLOSE_SECONDS = 5.0  # until the next heartbeat, a third of the lease, and some for a loaded machine
STUCK = "a question that hangs"


def answer(request: Request) -> Response:
    """Echo the last message, except the one that hangs."""
    said = request.json["messages"][-1]["content"]
    if STUCK in json.dumps(said):
        return HANG
    return json_response({"choices": [{"message": {"role": "assistant", "content": f"Confirmed: {said}"}}]})


@pytest.fixture(scope="module")
def provider() -> Iterator[HttpServer]:
    with HttpServer(answer) as running:
        yield running


@pytest.fixture(scope="module")
def service(provider: HttpServer) -> Iterator[LocalService]:
    parameters = {"Agent": "openai", "AgentUrl": provider.url, "AgentModel": "any", "TurnLeaseSeconds": "3"}
    with LocalService(mode="in_process", parameters=parameters) as running:
        yield running


@pytest.mark.parametrize("platform", PLATFORMS)
def test_stop_frees_the_place_and_cancels_the_request(user: ApiUser, provider: HttpServer, platform: str) -> None:
    thread = ChatThread(user, platform)
    asked = len(provider.requests)

    thread.say(STUCK)
    provider.received(asked + 1)
    began = time.monotonic()
    thread.say("/stop")
    eventually(lambda: not thread.session()["turn_running"], within=FREE_SECONDS)
    assert time.monotonic() - began < FREE_SECONDS
    thread.wait_for("Stopped")
    provider.saw_close(asked + 1, within=CLOSE_SECONDS)  # an agent opens a connection for each request
    thread.say("onwards")
    thread.wait_for("onwards")

    assert [message["role"] for message in user.transcript(thread.session_id)[6:]] == ["user", "assistant"]
    assert STUCK not in thread.contents()
    assert thread.replies(STUCK) == []
