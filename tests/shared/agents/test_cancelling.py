"""Calls that can be cancelled: results, errors, and calls that nothing can interrupt."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.agents import cancelling
from shared.agents.cancelling import Opened, cancellable
from shared.errors import AgentCancelled
from shared.ports.agents import Cancellation
from tests.support.servers import WAIT_SECONDS

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    theirs.settimeout(WAIT_SECONDS)
    with ours, theirs:
        yield ours, theirs


def test_the_result_comes_back() -> None:
    assert cancellable(lambda _: "answer", Cancellation()) == "answer"


def test_an_error_is_raised_in_the_callers_thread() -> None:
    def fail(_: Opened) -> None:
        raise KeyError("why")

    with pytest.raises(KeyError, match="why"):
        cancellable(fail, Cancellation())


def test_a_call_whose_time_is_over_is_left_and_its_connection_shut_down(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = pair
    monkeypatch.setattr(cancelling, "GRACE", 0.0)
    left = iter([30.0, 0.01])

    def hang(opened: Opened) -> bytes:
        opened(ours)
        return ours.recv(1)

    monkeypatch.setattr(cancelling, "LOOK_EVERY", 0.01)
    with pytest.raises(TimeoutError):
        cancellable(hang, Cancellation(), left=lambda: next(left, 0.0))
    assert theirs.recv(1) == b""


def test_a_call_is_not_made_when_cancelled_before() -> None:
    cancellation = Cancellation()
    made: list[Opened] = []
    cancellation.cancel()
    with pytest.raises(AgentCancelled):
        cancellable(made.append, cancellation)
    assert made == []


def test_a_result_that_comes_with_the_cancellation_is_dropped() -> None:
    cancellation = Cancellation()
    with pytest.raises(AgentCancelled):
        cancellable(lambda _: cancellation.cancel(), cancellation)


def test_a_call_that_hangs_is_left_and_its_later_connection_shut_down(pair: Pair) -> None:
    ours, theirs = pair
    cancellation = Cancellation()
    began, go = threading.Event(), threading.Event()

    def hang(opened: Opened) -> None:
        began.set()
        go.wait(WAIT_SECONDS)
        opened(ours)

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(cancellable, hang, cancellation)
        assert began.wait(WAIT_SECONDS)
        cancellation.cancel()
        with pytest.raises(AgentCancelled):
            asked.result(WAIT_SECONDS)
    go.set()
    assert theirs.recv(1) == b""


def test_a_connection_ends_when_the_call_has_closed_it(pair: Pair) -> None:
    ours, theirs = pair
    kept: list[Opened] = []  # so that the garbage collector closes nothing

    def call(opened: Opened) -> None:
        kept.append(opened)
        opened(ours)

    cancellable(call, Cancellation())
    ours.close()
    assert theirs.recv(1) == b""
