"""The HTTP server: which requests reach the app, when they are answered, and how it stops."""

import secrets
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from functions.http.guard import MAX_BODY
from local.server.http import WRITES
from shared.errors import DataFileUnflushed
from shared.use_cases.people.authenticate import new_token
from tests.local.server.one_route import AT_ONCE, OPEN, SECONDS, OneRoute, connected, running
from tests.support.waiting import eventually


def test_a_route_that_may_wait_does_not_hold_up_others() -> None:
    with running(OneRoute(), waits=True) as route, ThreadPoolExecutor(10) as clients:
        answers = [clients.submit(httpx.get, route.url, timeout=SECONDS) for _ in range(10)]
        for _ in answers:
            assert route.called.acquire(timeout=SECONDS)
        route.may_end.set()

        assert {answer.result().status_code for answer in answers} == {200}


@pytest.mark.parametrize("path", ["/tokens/{}", "/tokens/{}/", "/{}", "/login#{}", "/tokens/%2568o_{}"])
def test_a_token_in_a_path_is_not_logged(path: str, caplog: pytest.LogCaptureFixture) -> None:
    token, login = new_token("ada"), f"hl_ada.{secrets.token_urlsafe(24)}"
    caplog.set_level("INFO", "local.server.http")
    with running(OneRoute()) as route, httpx.Client(base_url=route.url.removesuffix(OPEN)) as http:
        for secret in (token, login):
            http.request("DELETE", path.format(secret).replace("#", "%23"))
        http.request("DELETE", "/tokens/0123456789ab")
    assert not any(secret.partition(".")[2] in caplog.text for secret in (token, login))
    assert "DELETE /tokens/0123456789ab → 401" in caplog.text


def test_writes_that_wait_leave_threads_for_reads() -> None:
    with running(OneRoute(), waits=True) as route, ThreadPoolExecutor(2 * WRITES) as clients:
        writes = [clients.submit(httpx.post, route.url, timeout=SECONDS) for _ in range(2 * WRITES)]
        for _ in range(WRITES):
            assert route.called.acquire(timeout=SECONDS)

        assert httpx.get(route.url_of(AT_ONCE), timeout=SECONDS).status_code == 200
        route.may_end.set()
        assert {write.result().status_code for write in writes} == {200}


@pytest.mark.parametrize(("method", "expected"), [("POST", ["sync"]), ("GET", [])])
def test_an_answer_to_a_write_waits_for_the_disk(method: str, expected: list[str]) -> None:
    done: list[str] = []
    with running(OneRoute(lambda: done.append("sync"))) as route:
        assert httpx.request(method, route.url).status_code == 200

    assert done == expected


def test_a_disk_that_refuses_is_an_answer() -> None:
    def refuse() -> None:
        raise DataFileUnflushed("data", "I/O error")

    with running(OneRoute(refuse)) as route:
        answer = httpx.post(route.url)

    assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (
        503,
        "storage_unavailable",
        "5",
    )


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 200), ({"Host": "evil.example"}, 403), ({"Origin": "http://evil.example"}, 403)],
)
def test_pages_of_other_origins_are_refused(headers: dict[str, str], status: int) -> None:
    with running(OneRoute(only_here=True)) as route:
        assert httpx.get(route.url, headers=headers).status_code == status


def test_a_connection_is_kept_after_a_body_that_was_too_large() -> None:
    with running(OneRoute()) as route, httpx.Client() as client:
        refused = client.post(route.url, content=b"x" * (MAX_BODY + 1))
        answers = [client.post(route.url) for _ in range(3)]

    assert (refused.status_code, refused.json()["code"]) == (413, "body_too_large")
    assert [answer.status_code for answer in answers] == [200, 200, 200]


def test_headers_without_an_end_are_refused() -> None:
    with running(OneRoute()) as route, connected(route) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: " + b"x" * 60_000)

        assert client.recv(1000).startswith(b"HTTP/1.1 400 ")


def test_the_first_byte_of_a_body_can_be_waited_for() -> None:
    head = f"POST {OPEN} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    with running(OneRoute()) as route, connected(route) as client:
        client.sendall(head.encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 100 ")
        client.sendall(b"{}")

        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")


def test_a_stop_answers_and_waits_for_the_thread() -> None:
    with running(OneRoute(), waits=True) as route, ThreadPoolExecutor(1) as clients:
        answer = clients.submit(httpx.post, route.url, timeout=SECONDS)
        assert route.called.acquire(timeout=SECONDS)
        route.server.stop()

        assert (answer.result().status_code, answer.result().json()["code"]) == (500, "internal")
        assert not route.server.wait_idle(0.01)
        route.may_end.set()
        assert route.server.wait_idle(SECONDS)


def test_a_stop_does_not_wait_for_the_rest_of_a_body(caplog: pytest.LogCaptureFixture) -> None:
    with running(OneRoute()) as route, connected(route) as client:
        client.sendall(f"POST {OPEN} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{{".encode())
        eventually(lambda: route.server._server.server_state.tasks)
        route.server.stop()

        assert route.server.wait_idle(0)
    assert not route.called.acquire(blocking=False)
    assert "Traceback" not in caplog.text


def test_a_port_in_use_is_an_error() -> None:
    with running(OneRoute()) as route, pytest.raises(OSError, match="in use"):
        OneRoute().server.start("127.0.0.1", route.server.port)
