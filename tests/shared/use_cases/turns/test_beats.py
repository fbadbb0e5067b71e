"""Repeated work beside something long: when it runs, what it survives, and that it is over at its end."""

import threading

import pytest

from shared.use_cases.turns.beats import Beats
from tests.support.waiting import eventually

SOON = 0.01
LATE = 600.0


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


def test_an_earlier_beat_overtakes_a_later_one() -> None:
    done = threading.Event()
    with Beats() as beats:
        beats.repeat(lambda: None, LATE)
        beats.repeat(done.set, SOON)
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
        beats.repeat(beat, SOON)
        assert began.wait(20)
        over.set()
    assert ended == [1]


def test_nothing_begins_after_the_end() -> None:
    done: list[int] = []
    with Beats() as beats:
        beats.repeat(lambda: done.append(1), SOON)
    before = len(done)

    with Beats() as others:  # its beat is due later, so the one before would have come
        passed = threading.Event()
        others.repeat(passed.set, 5 * SOON)
        assert passed.wait(20)
    assert len(done) == before


def test_a_beat_may_end_all_of_them() -> None:
    done: list[int] = []
    with Beats() as beats:

        def beat() -> None:
            done.append(1)
            beats.end()

        beats.repeat(beat, SOON)
        eventually(lambda: done)
    assert done == [1]


def test_without_a_thread_to_be_had_the_next_beat_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    done, failures, start = threading.Event(), [1, 1], threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "beat" and failures:
            failures.pop()
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with Beats() as beats:
        beats.repeat(done.set, SOON)
        assert done.wait(20)
    assert not failures
