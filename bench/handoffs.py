"""The whole service as on AWS, with its functions in runtime processes: one handoff alone, and many in parallel."""

from collections.abc import Iterator

import httpx

from bench.clients import Target, at_once, one_by_one
from bench.figures import Figures, p50, p95, timed
from local.cloud.runtime.invoker import RuntimeInvoker
from local.service import LocalService

ROUNDS = 20
PARALLEL = 10
AGENT_SECONDS = 3


def run(figures: Figures) -> Iterator[str]:
    """With an instant agent, then with a slow one."""
    yield from _instant(figures)
    yield from _slow(figures)


def _instant(figures: Figures) -> Iterator[str]:
    """One after the other, then in parallel, after a warm-up."""
    with LocalService() as service:
        target = _target(service)
        one_by_one(target, 1)
        polls = [timed(lambda: _poll(service)) for _ in range(ROUNDS)]
        alone = one_by_one(target, ROUNDS)
        together, _ = at_once(target, PARALLEL)
    figures.note("aws p50", p50(alone))
    figures.note("aws p95", p95(alone))
    yield f"one poll (GET /platforms): p50 {p50(polls) * 1000:.0f} ms"
    yield f"one handoff: p50 {p50(alone) * 1000:.0f} ms = {p50(alone) / p50(polls):.1f} polls, p95 {p95(alone) * 1000:.0f} ms"
    yield f"{PARALLEL} in parallel: {together / p50(alone):.1f} times one alone"


def _slow(figures: Figures) -> Iterator[str]:
    """In parallel right after the start, and again; compared with one alone."""
    with LocalService(parameters={"RehearsalSeconds": str(AGENT_SECONDS)}) as service:
        if isinstance(service.invoker, RuntimeInvoker):
            service.invoker.wait_warm()
        target = Target(service.url, service.tokens["owner"], pause=0.1)
        first, _ = at_once(target, PARALLEL)
        (alone,) = one_by_one(target, 1)
        again, _ = at_once(target, PARALLEL)
    figures.note("aws 10", again)
    for when, seconds in (("just started", first), ("again", again)):
        yield f"{PARALLEL} with {AGENT_SECONDS} s agents, {when}: {seconds:.1f} s = {seconds / alone:.2f} times one alone"


def _target(service: LocalService) -> Target:
    return Target(service.url, service.tokens["owner"])


def _poll(service: LocalService) -> None:
    headers = {"Authorization": f"Bearer {service.tokens['owner']}"}
    httpx.get(f"{service.url}/platforms", headers=headers, timeout=60).raise_for_status()
