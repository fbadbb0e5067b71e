"""A platform that takes twenty seconds for each call: work for all others goes on as if it were not there."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local.server.directory import DataDirectory
from local.server.service import STOP_SECONDS, Address, Server
from local.server.work import TURN_THREADS
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.server_process import user_of
from tests.support.waiting import eventually, on_this_machine

MANY = 300
SECONDS = 20.0
OPERATIONS = (None, "typing", "read")
PROMISED = 1.0
SOON = 8.0
"""Seconds: far below what a wait for the slow platform would take, and far above what a loaded machine needs."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(DataDirectory(tmp_path / "data"), {}, Address(port=0, page_port=0)) as running:
        ChatThread(user_of(running), "slack")  # now its SDK is loaded
        yield running


@pytest.fixture
def user(server: Server) -> ApiUser:
    return user_of(server)


def slow_down(server: Server, platform: str) -> None:
    for operation in OPERATIONS:
        server.simulator.arm(platform, "slow", 1_000_000, seconds=SECONDS, on=operation)


def request_many(user: ApiUser, platform: str) -> list[str]:
    """Handoffs to a platform; returns their ids."""
    session = {"messages": [{"role": "user", "content": "hello"}]}

    def request(number: int) -> str:
        body = {"platform": platform, "session": session}
        answer = user.http.post("/handoffs", json=body, headers={"Idempotency-Key": f"many-{number}"})
        return str(answer.raise_for_status().json()["id"])

    with ThreadPoolExecutor(8) as clients:
        return list(clients.map(request, range(MANY)))


def test_it_holds_up_no_handoff_to_another_one(server: Server, user: ApiUser) -> None:
    slow_down(server, "telegram")
    waiting = request_many(user, "telegram")

    session_id = user.create_session()
    began = time.monotonic()
    done = user.hand_off(session_id, "slack")
    took = time.monotonic() - began

    print(f"a handoff behind {MANY} slow ones took {took * 1000:.0f} ms")  # noqa: T201
    assert done["state"] == "completed"
    assert took < on_this_machine(PROMISED)
    assert not any(user.handoff(handoff_id)["done"] for handoff_id in waiting)
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < STOP_SECONDS + 3


def test_it_holds_up_no_message_on_another_one(server: Server, user: ApiUser) -> None:
    slow = [ChatThread(user, "telegram") for _ in range(40)]
    other = ChatThread(user, "slack")
    slow_down(server, "telegram")
    for thread in slow:
        thread.say("hello")
    # Only the posts of these are missing: each has a thread that waits.
    eventually(lambda: sum(thread.is_answered("hello") for thread in slow) >= TURN_THREADS)

    began = time.monotonic()
    other.say("and here?")
    other.wait_for("and here?", within=SOON)

    print(f"an answer behind {len(slow)} slow ones took {(time.monotonic() - began) * 1000:.0f} ms")  # noqa: T201
    assert not any(thread.replies("hello") for thread in slow)
