"""What a process does about its memory and its threads."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from local.server.memory import Rest, one_core
from tests.support.server_process import ServerProcess
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[3]
on_linux = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no affinity")
SCRIPT = """
import gc
from local.server.memory import prepare, settle

prepare()
print(gc.isenabled())
settle()
print(gc.isenabled(), gc.get_freeze_count() > 1000)
"""


def test_the_collector_rests_until_everything_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "True", "True"]


def test_memory_is_given_back_once_after_work() -> None:
    rest = Rest(10.0)

    assert not rest.look(0, 0.0), "nothing was done"
    assert not rest.look(5, 1.0)
    assert not rest.look(6, 10.5), "work goes on"
    assert not rest.look(6, 20.0)
    assert rest.look(6, 20.5)
    assert not rest.look(6, 40.0)
    assert not rest.look(7, 41.0)
    assert rest.look(7, 51.0)


def _in_thread(look: Callable[[], object]) -> None:
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()


@on_linux
def test_threads_that_are_started_inside_share_a_core() -> None:
    allowed = os.sched_getaffinity(0)
    seen: list[set[int]] = []

    def note() -> None:
        seen.append(os.sched_getaffinity(0))

    with one_core():
        _in_thread(note)
        _in_thread(lambda: _in_thread(note))
    _in_thread(note)

    assert seen[0] == seen[1] <= allowed
    assert len(seen[0]) == 1
    assert seen[2] == os.sched_getaffinity(0) == allowed


@on_linux
def test_the_caller_is_free_again_after_an_error() -> None:
    allowed = os.sched_getaffinity(0)

    with pytest.raises(KeyError), one_core():
        raise KeyError

    assert os.sched_getaffinity(0) == allowed


@on_linux
def test_all_threads_of_the_program_but_the_first_share_one(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data")
    try:
        server.start()
        eventually(lambda: "Ready in" in server.output.read_text())
        assert server.process is not None
        main = server.process.pid
        cores: dict[int, set[int]] = {}
        for thread in Path(f"/proc/{main}/task").iterdir():
            with suppress(ProcessLookupError):  # it has just ended
                cores[int(thread.name)] = os.sched_getaffinity(int(thread.name))
    finally:
        server.kill()

    assert cores.pop(main) == os.sched_getaffinity(0)
    assert len(cores) > 3
    assert len(set.union(*cores.values())) == 1
