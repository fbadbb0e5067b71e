"""`handoff up` as a program of its own, with the chats outside: start, one handoff, many at once, memory."""

import atexit
import functools
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.clients import Target, at_once, every_call_answers, in_turns, one_by_one
from bench.figures import Figures, cpu_seconds, megabytes, p50, p95, timed
from bench.large_file import LARGE, SMALL, Size, fill
from local.chats import CHATS
from local.chats.simulator import Simulator
from tests.support.server_process import ServerProcess
from tests.support.wheel import python_as_installed

PLATFORMS = tuple(chat.name for chat in CHATS if chat.relay and chat.spec.threads)
STARTS = 5
BURSTS = 3
ROUNDS = 40
SETTLED = 3.0
"""Seconds after a start: the SDKs are loaded by then, and a person has not typed much."""
AT_REST = 30.0
"""Seconds after the load: threads that had nothing to do have ended, and memory was given back."""
AGENT_SECONDS = 3
LATENCY = 0.3
OPERATIONS = (None, "typing", "read")


@contextmanager
def running(data: Path, simulator: Simulator, **environment: str) -> Iterator[ServerProcess]:
    """Started, and killed at the end."""
    server = ServerProcess(
        data, simulator, names=PLATFORMS, python=_python_as_installed(), LOG_LEVEL="WARNING", **environment
    )
    server.environment.pop("PYTHONDONTWRITEBYTECODE", None)  # or each start would compile the service
    try:
        server.start()
        yield server
    finally:
        if server.process is not None:
            server.kill()


@functools.cache
def _python_as_installed() -> str:
    """Not that of the tests: the SDKs load what they find of its packages, and a user has none of them."""
    directory = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, directory)
    return str(python_as_installed(directory, extra="server"))


def target_of(server: ServerProcess) -> Target:
    return Target(server.url, server.tokens["owner"])


def pid_of(server: ServerProcess) -> int:
    assert server.process is not None
    return server.process.pid


def run(figures: Figures) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as directory, Simulator() as simulator:
        data = Path(directory) / "data"
        yield from _starts(figures, data, simulator)
        yield from _one(figures, data, simulator)
        yield from _many(figures, Path(directory) / "many", simulator)


def run_large(figures: Figures, *, is_full: bool) -> Iterator[str]:
    """Two services at the same time: one on an empty file, one on a large one."""
    size = LARGE if is_full else SMALL
    with tempfile.TemporaryDirectory() as directory, Simulator() as simulator:
        empty, large = Path(directory) / "empty", Path(directory) / "large"
        yield f"{size}: written in {timed(lambda: fill(large, size)):.0f} s"
        with running(empty, simulator) as first, running(large, simulator) as second:
            yield from _compare(figures, size, first, second)


def _starts(figures: Figures, data: Path, simulator: Simulator) -> Iterator[str]:
    seconds, firsts = [], []
    with running(data, simulator):
        pass  # now the environment is made, and everything is compiled
    for _ in range(STARTS):
        began = time.perf_counter()
        with running(data, simulator) as server:
            every_call_answers(target_of(server))
            seconds.append(time.perf_counter() - began)
            firsts += one_by_one(target_of(server), 1)
    figures.note("ready", p50(seconds))
    figures.note("first at once", p50(firsts))
    yield f"ready after {p50(seconds):.2f} s, in {STARTS} starts from {min(seconds):.2f} to {max(seconds):.2f} s"
    yield f"a handoff asked for at that moment takes {p50(firsts) * 1000:.0f} ms"


def _one(figures: Figures, data: Path, simulator: Simulator) -> Iterator[str]:
    with running(data, simulator) as server:
        time.sleep(SETTLED)
        figures.note("memory idle", megabytes(pid_of(server)))
        target = target_of(server)
        (first,) = one_by_one(target, 1)
        before = cpu_seconds(pid_of(server))
        seconds = one_by_one(target, ROUNDS)
        after = cpu_seconds(pid_of(server))
        for platform in PLATFORMS[1:]:
            one_by_one(target, ROUNDS, platform)
        figures.note("memory used", megabytes(pid_of(server)))
    figures.note("first", first)
    figures.note("one p50", p50(seconds))
    figures.note("one p95", p95(seconds))
    if before is not None and after is not None:
        figures.note("one cpu", (after - before) / ROUNDS)
    yield f"one handoff: p50 {p50(seconds) * 1000:.1f} ms, p95 {p95(seconds) * 1000:.1f} ms; the first {first * 1000:.1f} ms"


def _many(figures: Figures, data: Path, simulator: Simulator) -> Iterator[str]:
    with running(data, simulator, HANDOFF_REHEARSAL_SECONDS=str(AGENT_SECONDS)) as server:
        time.sleep(SETTLED)
        target = target_of(server)
        before = cpu_seconds(pid_of(server))
        yield _at_once(figures, "100", target, 100, bursts=BURSTS)
        after = cpu_seconds(pid_of(server))
        if before is not None and after is not None:
            figures.note("many cpu", (after - before) / (100 * BURSTS))
        for platform in PLATFORMS:
            for operation in OPERATIONS:
                simulator.arm(platform, "slow", 1_000_000, seconds=LATENCY, on=operation)
        yield _at_once(figures, "100 slow", target, 100, bursts=BURSTS)
        for platform in PLATFORMS:
            simulator.arm(platform, "slow", 0)
        yield _at_once(figures, "500", target, 500, PLATFORMS)
        figures.note("memory at most", megabytes(pid_of(server)))
        time.sleep(AT_REST)
        figures.note("memory loaded", megabytes(pid_of(server)))
        yield f"memory: {figures['memory at most']:.0f} MB with all of these, {figures['memory loaded']:.0f} MB afterwards"


def _at_once(
    figures: Figures,
    name: str,
    target: Target,
    count: int,
    platforms: tuple[str, ...] = PLATFORMS[:1],
    *,
    bursts: int = 1,
) -> str:
    """The median of some bursts; completed are as many as in the worst."""
    done = [at_once(target, count, platforms) for _ in range(bursts)]
    seconds, completed = [taken for taken, _ in done], min(number for _, number in done)
    figures.note(name, p50(seconds))
    figures.note(f"{name} completed", completed)
    shown = ", ".join(f"{taken:.2f}" for taken in seconds)
    return f"{name} at once with {AGENT_SECONDS} s agents: {completed} of {count} completed in {shown} s"


def _compare(figures: Figures, size: Size, first: ServerProcess, second: ServerProcess) -> Iterator[str]:
    targets = [target_of(first), target_of(second)]
    in_turns(targets, 3)
    pids = [pid_of(first), pid_of(second)]
    before = [cpu_seconds(pid) or 0.0 for pid in pids]
    empty, large = in_turns(targets, ROUNDS)
    used = [(cpu_seconds(pid) or 0.0) - earlier for pid, earlier in zip(pids, before, strict=True)]
    figures.note("large sessions", size.sessions)
    figures.note("large messages", size.messages)
    figures.note("large p50", p50(large))
    figures.note("large ratio", p50(large) / p50(empty))
    if all(used):
        figures.note("large cpu ratio", used[1] / used[0])
    yield f"one handoff there: p50 {p50(large) * 1000:.1f} ms, in an empty file {p50(empty) * 1000:.1f} ms"
