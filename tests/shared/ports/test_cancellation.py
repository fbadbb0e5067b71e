"""A cancellation: what it closes, how often, and what a pause does."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.errors import AgentCancelled
from shared.ports.agents import Cancellation

WAIT_SECONDS = 20.0


@pytest.fixture
def cancellation() -> Cancellation:
    return Cancellation()


def test_it_closes_what_is_registered_once(cancellation: Cancellation) -> None:
    closed: list[str] = []
    with cancellation.closing(lambda: closed.append("one")), cancellation.closing(lambda: closed.append("two")):
        cancellation.cancel()
        cancellation.cancel()
    assert closed == ["one", "two"]


def test_what_is_registered_too_late_is_closed_at_once(cancellation: Cancellation) -> None:
    closed: list[str] = []
    cancellation.cancel()
    with cancellation.closing(lambda: closed.append("late")):
        assert closed == ["late"]
        cancellation.cancel()
    assert closed == ["late"]


def test_what_has_ended_is_not_closed(cancellation: Cancellation) -> None:
    closed: list[str] = []
    with cancellation.closing(lambda: closed.append("ended")):
        pass
    cancellation.cancel()
    assert closed == []


def test_many_threads_close_it_once(cancellation: Cancellation) -> None:
    closed: list[int] = []
    together = threading.Barrier(8, timeout=WAIT_SECONDS)

    def cancel() -> None:
        together.wait()
        cancellation.cancel()

    with ThreadPoolExecutor(8) as pool, cancellation.closing(lambda: closed.append(1)):
        for ended in [pool.submit(cancel) for _ in range(8)]:
            ended.result(WAIT_SECONDS)
        assert closed == [1]


def test_a_callback_may_use_the_cancellation(cancellation: Cancellation) -> None:
    seen: list[bool] = []

    def nested() -> None:
        cancellation.cancel()
        with cancellation.closing(lambda: seen.append(cancellation.is_cancelled)):
            pass

    with cancellation.closing(nested):
        cancellation.cancel()
    assert seen == [True]


def test_a_failing_callback_is_logged_by_type_and_stops_no_other(
    cancellation: Cancellation, caplog: pytest.LogCaptureFixture
) -> None:
    closed: list[str] = []

    def fail() -> None:
        raise OSError("at a private address")

    with cancellation.closing(fail), cancellation.closing(lambda: closed.append("the other")):
        cancellation.cancel()
    assert closed == ["the other"]
    assert "OSError" in caplog.text
    assert "private" not in caplog.text


def test_a_pause_ends_when_cancelled(cancellation: Cancellation) -> None:
    with ThreadPoolExecutor(1) as pool:
        pause = pool.submit(cancellation.wait, WAIT_SECONDS * 2)
        cancellation.cancel()
        assert pause.result(WAIT_SECONDS) is True


def test_a_pause_that_is_not_cancelled_passes(cancellation: Cancellation) -> None:
    assert cancellation.wait(0.001) is False
    cancellation.check()


def test_a_check_raises_once_cancelled(cancellation: Cancellation) -> None:
    cancellation.cancel()
    with pytest.raises(AgentCancelled):
        cancellation.check()
