"""Repeated work beside something long: when it runs, what it survives, and that it is over at its end."""

import threading

import pytest

from shared.use_cases.turns.heartbeat import Beats
from tests.support.waiting import eventually

SOON = 0.01
LATE = 600.0


def let_others_pass() -> None:
    """Wait for a beat that is due after those of others that are repeated soon: they would have come by then."""
    passed = threading.Event()
    with Beats() as beats:
        beats.repeat(passed.set, LATE, first=5 * SOON)
        assert passed.wait(20)


def test_a_beat_is_repeated() -> None:
    done: list[int] = []
    with Beats() as beats:
        beats.repeat(lambda: done.append(1), SOON)
        eventually(lambda: len(done) >= 3)


def test_a_beat_that_fails_is_repeated() -> None:
    done: list[int] = []

    def fail() -> None:
        done.append(1)
        raise OSError

    with Beats() as beats:
        beats.repeat(fail, SOON)
        eventually(lambda: len(done) >= 3)


def test_the_first_beat_has_its_own_time() -> None:
    done = threading.Event()
    with Beats() as beats:
        beats.repeat(done.set, LATE, first=SOON)
        assert done.wait(20)


def test_a_beat_that_hangs_delays_no_other() -> None:
    over, done = threading.Event(), list[int]()

    def hang() -> None:
        over.wait(30)

    with Beats() as beats:
        beats.repeat(hang, SOON)
        beats.repeat(lambda: done.append(1), SOON)
        eventually(lambda: len(done) >= 3)
        over.set()


def test_the_end_waits_for_a_beat_that_runs() -> None:
    began, over, ended = threading.Event(), threading.Event(), list[int]()

    def beat() -> None:
        began.set()
        over.wait(30)
        ended.append(1)

    with Beats() as beats:
        beats.repeat(beat, LATE, first=SOON)
        assert began.wait(20)
        over.set()
    assert ended == [1]


def test_nothing_begins_after_the_end() -> None:
    done: list[int] = []
    with Beats() as beats:
        beats.repeat(lambda: done.append(1), SOON)
    before = len(done)

    let_others_pass()
    assert len(done) == before


def test_a_beat_may_end_all_of_them() -> None:
    done: list[int] = []
    with Beats() as beats:

        def beat() -> None:
            done.append(1)
            beats.end()

        beats.repeat(beat, SOON)
        eventually(lambda: done)
        let_others_pass()
        assert done == [1]


def test_a_beat_that_gets_no_thread_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with Beats() as beats:
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refuse)
            with pytest.raises(RuntimeError, match="can't start"):
                beats.repeat(lambda: None, SOON)
        done = threading.Event()
        beats.repeat(done.set, SOON)
        assert done.wait(20)
