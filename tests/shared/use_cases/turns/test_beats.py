"""Repeated work beside something long: when it runs, what it survives, and that it is over at its end."""

import subprocess
import sys
import threading

import pytest

from shared.use_cases.turns.beats import Beats
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


def test_without_a_thread_to_be_had_the_next_beat_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    done, refused, start = threading.Event(), list[str](), threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        """Twice; beats of a service in this process may be among them."""
        if thread.name == "beat" and len(refused) < 2:
            refused.append(thread.name)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with Beats() as beats:
        beats.repeat(done.set, SOON)
        assert done.wait(20)
    assert len(refused) == 2


def test_a_fork_has_its_own_beats() -> None:
    """Those of its parent are not run twice, and its own come in time though the thread is in the parent."""
    code = """
import os, threading
from shared.use_cases.turns.beats import Beats
with Beats() as beats:
    beats.repeat(lambda: None, 600.0)
    inherited = threading.Event()
    beats.repeat(inherited.set, 600.0, first=0.3)
    child = os.fork()
    if not child:
        done = threading.Event()
        with Beats() as own:
            own.repeat(done.set, 600.0, first=0.6)
            os._exit(0 if done.wait(20) and not inherited.is_set() else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), inherited.wait(20))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "True"]
