"""What a client without a token can hold of the HTTP server: seconds, connections, bytes, lines of the log."""

import asyncio
import errno
import logging
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest

from local.server.http import LoopErrors
from local.server.http_connections import Limits, raise_file_limit
from tests.local.server.one_route import AT_ONCE, LONG, OPEN, OneRoute, connected, is_closed, running
from tests.support.waiting import eventually

HOST = b"Host: 127.0.0.1\r\n"
GET = f"GET {OPEN} HTTP/1.1\r\n".encode() + HOST
POST = f"POST {OPEN} HTTP/1.1\r\n".encode() + HOST
CLOSED = b"POST /sessions HTTP/1.1\r\n" + HOST
"""It needs a token, so it is answered before its body is read."""
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


UNFINISHED = (
    b"",
    b"G",
    GET,
    GET + b"\r\n" + GET,
    POST + CHUNKED,
    POST + b"Content-Length: 9\r\n\r\n{",
    CLOSED + CHUNKED,
    CLOSED + CHUNKED + b"1\r\nx\r\n",
)
MALFORMED = (
    b"\x16\x03\x01\x02\x00\x01\x00",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    GET + b"Content-Length: x\r\n\r\n",
    GET + b"Host: [\r\n\r\n",
    b"GET /%ff%00?\xff HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /sessions HTTP/1.1\r\nHost: [\r\n\r\n",
    POST + CHUNKED + b"zz\r\n",
    POST + b"Expect: 100-continue\r\n" + CHUNKED + b"zz\r\n",
    CLOSED + CHUNKED + b"zz\r\n",
    CLOSED + CHUNKED + b"1\r\nx\r\nzz\r\n",
    GET + b"\r\n" + b"\x00\r\n\r\n",
    GET + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    GET + b"Connection: close\r\n\r\n" + b"more",
)


def test_a_request_that_does_not_end_is_closed() -> None:
    limits = Limits(header_seconds=0.1, body_seconds=0.1)
    with running(OneRoute(limits=limits)) as route, ExitStack() as stack:
        clients = {sent: stack.enter_context(connected(route)) for sent in UNFINISHED}
        for sent, client in clients.items():
            client.sendall(sent)

        for sent, client in clients.items():
            assert is_closed(client), sent


def test_a_connection_without_a_next_request_is_closed() -> None:
    limits = Limits(idle_seconds=1, header_seconds=0.1, body_seconds=0.1)
    with running(OneRoute(limits=limits)) as route, connected(route) as client:
        client.sendall(GET + b"\r\n")

        assert client.recv(15) == b"HTTP/1.1 200 OK"
        assert is_closed(client)


def test_an_answer_that_is_not_read_is_closed() -> None:
    with running(OneRoute(limits=Limits(body_seconds=0.1))) as route, connected(route) as client:
        client.sendall((f"GET {LONG} HTTP/1.1\r\n".encode() + HOST + b"\r\n") * 50)
        state = route.server._server.server_state
        eventually(lambda: state.total_requests)

        eventually(lambda: not state.connections)


def test_a_deadline_does_not_hold_for_the_answer() -> None:
    limits = Limits(header_seconds=0.1, body_seconds=0.1)
    with running(OneRoute(limits=limits), waits=True) as route, connected(route) as client, connected(route) as other:
        client.sendall(POST + b"Content-Length: 2\r\n\r\n{}")
        assert route.called.acquire(timeout=20)
        assert is_closed(other)
        route.may_end.set()

        assert client.recv(15) == b"HTTP/1.1 200 OK"


def answer_to(client: socket.socket) -> bytes:
    """A whole answer: its head and its body may arrive one after the other."""
    answer = b""
    while not answer.endswith(b"}"):
        piece = client.recv(1000)
        assert piece
        answer += piece
    return answer


def test_the_oldest_idle_connection_makes_room_for_a_new_one() -> None:
    with running(OneRoute(limits=Limits(connections=3))) as route, ExitStack() as stack:
        first, second, third = (stack.enter_context(connected(route)) for _ in range(3))
        first.sendall(GET + b"\r\n")
        assert answer_to(first).startswith(b"HTTP/1.1 200 OK")  # it is the newest that is idle now

        assert httpx.get(route.url).status_code == 200
        assert is_closed(second)
        for client in (first, third):
            client.sendall(GET + b"\r\n")
            assert answer_to(client).startswith(b"HTTP/1.1 200 OK")


def test_a_connection_that_is_being_answered_is_not_closed_for_a_new_one() -> None:
    with running(OneRoute(limits=Limits(connections=1)), waits=True) as route, connected(route) as client:
        client.sendall(GET + b"\r\n")
        assert route.called.acquire(timeout=20)
        with connected(route) as other:
            assert is_closed(other)
        route.may_end.set()

        assert client.recv(15) == b"HTTP/1.1 200 OK"


def test_the_bytes_of_all_requests_are_bounded() -> None:
    with running(OneRoute(limits=Limits(bytes_in_flight=200_000))) as route, ExitStack() as stack:
        slow = [stack.enter_context(connected(route)) for _ in range(9)]
        for client in slow:
            client.sendall(POST + b"Content-Length: 100000\r\n\r\n" + b"x" * 90_000)
        assert httpx.post(route.url, content=b"x" * 50_000).status_code == 200

        assert all(is_closed(client) for client in slow[:8])
    assert route.called.acquire(timeout=1)
    assert not route.called.acquire(blocking=False), "a part of a body reached the app"


def test_a_client_that_always_begins_its_next_request_holds_no_more_than_that() -> None:
    with running(OneRoute(limits=Limits(bytes_in_flight=100_000))) as route, ExitStack() as stack:
        slow, busy = stack.enter_context(connected(route)), stack.enter_context(connected(route))
        slow.sendall(POST + b"Content-Length: 50000\r\n\r\n" + b"x" * 40_000)
        request = GET.replace(OPEN.encode(), AT_ONCE.encode()) + b"X-Long: " + b"x" * 9000 + b"\r\n\r\n"
        busy.sendall(request[:20])
        for count in [1, 2] * 20:
            busy.sendall((request * count)[20:] + request[:20])
            answers = b""
            while answers.count(b"}") < count:
                answers += busy.recv(10_000) or pytest.fail("it was closed")

        slow.sendall(b"x" * 10_000)
        assert slow.recv(10_000).startswith(b"HTTP/1.1 200 ")


def test_a_body_of_very_many_small_chunks_is_closed() -> None:
    with running(OneRoute()) as route, connected(route) as client:
        with suppress(ConnectionError):
            client.sendall(POST + CHUNKED + b"1\r\nx\r\n" * 20_000)

        assert is_closed(client)
    assert not route.called.acquire(blocking=False), "a part of a body reached the app"


@pytest.mark.parametrize(("size", "count"), [(1, 500), (300, 3000)])
def test_a_body_may_have_small_chunks(size: int, count: int) -> None:
    with running(OneRoute()) as route, connected(route) as client:
        for _ in range(2):
            client.sendall(POST + CHUNKED + b"%x\r\n%s\r\n" % (size, b"x" * size) * count + b"0\r\n\r\n")
            answer = b""
            while not answer.endswith(b"}"):
                answer += client.recv(10_000) or pytest.fail("it was closed")
            assert answer.startswith(b"HTTP/1.1 200 ")


def test_a_request_larger_than_all_room_is_closed() -> None:
    with running(OneRoute(limits=Limits(bytes_in_flight=50_000))) as route, connected(route) as client:
        client.sendall(POST + b"Content-Length: 100000\r\n\r\n" + b"x" * 90_000)

        assert is_closed(client)
        assert [httpx.post(route.url, content=b"x" * 30_000).status_code for _ in range(5)] == [200] * 5


def test_headers_that_arrive_at_once_are_limited_too() -> None:
    with running(OneRoute()) as route, connected(route) as client:
        client.sendall(GET + b"X-Long: " + b"x" * 17_000 + b"\r\n\r\n")

        assert client.recv(1000).startswith(b"HTTP/1.1 431 ")
    assert not route.called.acquire(blocking=False)


@pytest.mark.parametrize("size", [1, 1000], ids=["byte by byte", "at once"])
def test_a_malformed_request_is_one_line_at_most(caplog: pytest.LogCaptureFixture, size: int) -> None:
    caplog.set_level(logging.INFO)
    with running(OneRoute()) as route:
        for sent in MALFORMED:
            caplog.clear()
            with connected(route) as client, suppress(OSError):  # it may be refused before its end
                for start in range(0, len(sent), size):
                    client.sendall(sent[start : start + size])
                client.shutdown(socket.SHUT_WR)
                assert is_closed(client), sent
            assert httpx.get(route.url).status_code == 200

            logged = [record for record in caplog.records if record.name != "httpx"]
            assert len(logged) <= 1, sent
            assert "Traceback" not in caplog.text, sent


def test_connections_that_cannot_be_accepted_are_one_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    loop, errors = asyncio.new_event_loop(), LoopErrors()
    message = "socket.accept() out of system resource"
    for _ in range(1000):
        errors.handle(loop, {"message": message, "exception": OSError(errno.EMFILE, "Too many open files")})
    loop.close()

    (line,) = caplog.records
    assert line.getMessage() == "no connection can be accepted now: Too many open files"
    assert line.exc_info is None


@pytest.fixture
def files() -> Iterator[int]:
    """The number of descriptors that the system allows at most."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield hard if hard != resource.RLIM_INFINITY else 100_000
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_connections_fit_into_the_descriptors_of_the_process(files: int) -> None:
    limits = Limits()
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    assert limits.possible_connections < 1024

    raise_file_limit(limits)

    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert allowed == min(files, limits.files)
    assert limits.possible_connections == min(limits.connections, allowed - (limits.files - limits.connections))
