"""The whole service in one process: handoffs, replies, commands, and who may call it."""

import threading

import httpx
import pytest

from local.chats import CHATS
from local.server.service import Server
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.platform_cases import PLATFORMS
from tests.support.problems import problem_code
from tests.support.waiting import eventually


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_session_moves_to_a_thread_and_goes_on_there(user: ApiUser, platform: str) -> None:
    thread = ChatThread(user, platform)

    thread.say("and now?")
    thread.wait_for("and now?")

    assert len(thread.bot_texts("Confirmed")) == 1
    assert thread.is_answered("and now?")


def test_stop_ends_a_turn_at_once(user: ApiUser) -> None:
    thread = ChatThread(user)

    thread.say("rehearse: slow 60")
    eventually(lambda: thread.session()["turn_running"])
    thread.say("/stop")

    eventually(lambda: not thread.session()["turn_running"])
    thread.say("go on")
    thread.wait_for("go on")


def test_resume_brings_a_session_back(user: ApiUser) -> None:
    thread = ChatThread(user)

    resumed = user.http.post(f"/sessions/{thread.session_id}/resume", json={"epoch": thread.session()["epoch"]})

    assert resumed.json()["owner"] == "cli"
    thread.wait_for("went back to the terminal")


def test_a_platform_that_is_slow_delays_no_other_request(server: Server, user: ApiUser) -> None:
    asked = len(server.simulator.calls)
    server.simulator.arm("telegram", "slow", count=50, on="read", seconds=4.0)
    try:
        doctor = threading.Thread(target=lambda: user.http.get("/doctor"))
        doctor.start()
        eventually(lambda: len(server.simulator.calls) > asked)
        answer = httpx.get(f"{server.url}/health")
        is_waiting = doctor.is_alive()
        doctor.join()
    finally:
        server.simulator.arm("telegram", "slow", count=0)
    assert (answer.status_code, is_waiting) == (200, True)


def test_pages_of_other_origins_are_refused(server: Server) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert httpx.get(f"{server.url}/health", headers=headers).status_code == 403


def test_a_body_over_the_limit_is_refused(user: ApiUser) -> None:
    answer = user.http.put("/sessions/big", content=b" " * 2_000_000)

    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_a_webhook_over_the_limit_holds_back_no_later_one(user: ApiUser) -> None:
    """Some platforms repeat a refused webhook for ever, before anything newer."""
    for spec in (chat.spec for chat in CHATS):
        answer = user.http.post(f"/webhooks/{spec.name}", content=b" " * (spec.body_limit + 1))
        assert answer.status_code == (200 if spec.drops_oversized else 413)


def test_webhooks_come_in_at_paths_that_a_platform_fixes(user: ApiUser) -> None:
    paths = [path for chat in CHATS for path in chat.spec.webhook_paths]
    assert paths
    for path in paths:
        for headers in ({}, {"Authorization": ""}):
            answer = user.http.post(path, content=b'{"notification": {"devices": []}}', headers=headers)
            assert problem_code(answer) == "unauthenticated"


def test_a_body_that_comes_in_pieces_is_read_to_its_end(user: ApiUser) -> None:
    pieces = [b'{"title": "', *[b"a"] * 50, b'"}']

    answer = user.http.put("/sessions/pieces", content=iter(pieces), headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["title"]) == (201, "a" * 50)
