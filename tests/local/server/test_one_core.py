"""The threads of the service share a core; the caller, and what it starts later, has all of them."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from local.server.one_core import one_core
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no affinity")


def _in_thread(look: Callable[[], object]) -> None:
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()


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


def test_the_caller_is_free_again_after_an_error() -> None:
    allowed = os.sched_getaffinity(0)

    with pytest.raises(KeyError), one_core():
        raise KeyError

    assert os.sched_getaffinity(0) == allowed


def test_all_threads_of_the_program_but_the_first_share_one(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data")
    try:
        server.start()
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
