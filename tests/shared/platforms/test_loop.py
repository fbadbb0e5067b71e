"""The event loop that the asynchronous SDKs share."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.platforms import loop
from shared.platforms.loop import Loop


@pytest.fixture
def fresh() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


async def _loop_id() -> int:
    return id(asyncio.get_running_loop())


def test_every_call_of_a_process_runs_on_the_same_loop() -> None:
    assert loop.run(_loop_id(), timeout=5) == loop.run(_loop_id(), timeout=5)


def test_results_and_errors_reach_the_caller(fresh: Loop) -> None:
    async def fails() -> None:
        raise KeyError("why")

    assert fresh.run(asyncio.sleep(0, "done"), timeout=5) == "done"
    with pytest.raises(KeyError, match="why"):
        fresh.run(fails(), timeout=5)


def test_calls_of_several_threads_run_concurrently(fresh: Loop) -> None:
    all_calls = asyncio.Barrier(8)

    with ThreadPoolExecutor(8) as threads:
        waits = [threads.submit(fresh.run, all_calls.wait(), timeout=10) for _ in range(8)]
        assert sorted(wait.result() for wait in waits) == list(range(8))


def test_work_over_the_time_limit_is_cancelled(fresh: Loop) -> None:
    cancelled = threading.Event()

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with pytest.raises(TimeoutError):
        fresh.run(endless(), timeout=0.05)
    assert cancelled.wait(5)


def test_a_caller_returns_even_if_the_work_does_not_stop(fresh: Loop) -> None:
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    began = time.monotonic()
    with pytest.raises(TimeoutError):
        fresh.run(stubborn(), timeout=0.05)
    assert time.monotonic() - began < 5

    async def let_go() -> None:
        release.set()

    fresh.run(let_go(), timeout=5)
    assert fresh.run(asyncio.sleep(0, "alive"), timeout=5) == "alive"


def test_a_call_from_the_loop_itself_is_refused(fresh: Loop) -> None:
    async def inner() -> None:
        return fresh.run(asyncio.sleep(0), timeout=5)

    with pytest.raises(RuntimeError, match="cannot wait"):
        fresh.run(inner(), timeout=5)
