"""`?wait=`: the service holds a read until there is news, for many clients at once, and lets go of them when it stops."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from local.server.directory import DataDirectory
from local.server.service import Address, Server
from tests.support.api_user import ApiUser, Json
from tests.support.chat_thread import ChatThread
from tests.support.server_process import user_of
from tests.support.waiting import eventually

MANY = 200
SECONDS = 25


@pytest.fixture
def stuck(server: Server, user: ApiUser) -> Iterator[Json]:
    """A handoff that goes no further, because its platform asks for patience."""
    server.simulator.arm("telegram", "rate_limit", 1, on="open_thread", seconds=60.0)
    handoff_id = user.request_handoff(user.create_session()).json()["id"]

    def waits() -> Json | None:
        view = user.handoff(handoff_id)
        return view if view["error"] else None

    yield eventually(waits)
    user.http.delete(f"/handoffs/{handoff_id}")


def held(user: ApiUser, view: Json, *, seconds: float = SECONDS) -> Json:
    path = f"/handoffs/{view['id']}?wait={seconds}&seen={view['version']}"
    found: Json = user.http.get(path).raise_for_status().json()
    return found


def test_a_handoff_is_followed_without_a_pause(user: ApiUser) -> None:
    view = user.request_handoff(user.create_session()).json()
    versions = [view["version"]]
    while not view["done"]:
        view = held(user, view)
        versions.append(view["version"])
        assert view["poll_after_ms"] == 0

    assert view["state"] == "completed"
    assert len(set(versions)) == len(versions)  # each answer was news


def test_it_is_held_until_something_changes(server: Server, user: ApiUser, stuck: Json) -> None:
    reads = server.engine.held_reads
    with ThreadPoolExecutor(1) as clients:
        answer = clients.submit(held, user, stuck)
        eventually(lambda: reads.count == 1)
        user.http.delete(f"/handoffs/{stuck['id']}").raise_for_status()
        view = answer.result(SECONDS)

    assert (view["state"], view["poll_after_ms"], reads.count) == ("cancelled", 0, 0)


def test_when_the_time_is_over_nothing_is_new(user: ApiUser, stuck: Json) -> None:
    view = held(user, stuck, seconds=0.05)

    assert (view["version"], view["poll_after_ms"]) == (stuck["version"], 0)


def test_without_wait_the_answer_comes_at_once_with_a_pause(user: ApiUser, stuck: Json) -> None:
    assert user.handoff(stuck["id"])["poll_after_ms"] > 0


def test_what_is_done_is_never_held(user: ApiUser) -> None:
    view = user.hand_off(user.create_session())

    assert held(user, view)["version"] == view["version"]


@pytest.mark.parametrize("wait", ["-1", "26", "nan", "soon"])
def test_a_time_out_of_range_is_refused(user: ApiUser, stuck: Json, wait: str) -> None:
    answer = user.http.get(f"/handoffs/{stuck['id']}?wait={wait}")

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


def test_many_requests_are_held_without_a_thread_each(server: Server, user: ApiUser, stuck: Json) -> None:
    path = f"/handoffs/{stuck['id']}?wait={SECONDS}&seen={stuck['version']}"
    threads = threading.active_count()
    clients = [connected(server, path) for _ in range(MANY)]
    eventually(lambda: server.engine.held_reads.count == MANY)

    assert threading.active_count() <= threads + 1  # a sweep, perhaps; the clients have none
    user.http.delete(f"/handoffs/{stuck['id']}").raise_for_status()
    answers = [client.recv(100_000) for client in clients]
    for client in clients:
        client.close()
    assert all(b'"state":"cancelled"' in answer for answer in answers)
    assert server.engine.held_reads.count == 0


def test_a_client_that_goes_away_is_not_waited_for(server: Server, stuck: Json) -> None:
    client = connected(server, f"/handoffs/{stuck['id']}?wait={SECONDS}")
    eventually(lambda: server.engine.held_reads.count == 1)

    client.close()

    eventually(lambda: server.engine.held_reads.count == 0)


def test_a_session_is_held_until_its_turn_is_over(server: Server, user: ApiUser) -> None:
    session_id = user.create_session()
    body = {"epoch": 0, "id": "one", "text": "hello"}
    session = user.http.post(f"/sessions/{session_id}/turns", json=body).json()["session"]
    while session["turn_running"]:
        path = f"/sessions/{session_id}?wait={SECONDS}&seen={session['version']}"
        session = user.http.get(path).raise_for_status().json()

    assert session["message_count"] == 6
    assert server.engine.held_reads.count == 0


def test_a_stop_lets_go_of_held_requests(tmp_path: Path) -> None:
    with Server(DataDirectory(tmp_path / "data"), {}, Address(port=0, page_port=0)) as server:
        thread = ChatThread(user_of(server))
        reads = server.engine.held_reads
        client = connected(server, f"/sessions/{thread.session_id}?wait={SECONDS}")
        eventually(lambda: reads.count == 1)
        server.stop()
    with client:
        answer = client.recv(100_000)

    assert answer.startswith(b"HTTP/1.1 200")
    assert reads.count == 0


def connected(server: Server, path: str) -> socket.socket:
    """A client that has sent a request and waits for the answer."""
    where = urlsplit(server.url)
    client = socket.create_connection((where.hostname, where.port), timeout=SECONDS)
    token = server.tokens["owner"]
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    return client
