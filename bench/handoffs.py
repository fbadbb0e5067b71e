"""The time of a whole handoff on the real runtime: one alone, as a multiple of one poll, and many in parallel."""

import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx

from local.chats import CHATS
from local.cloud.runtime.invoker import RuntimeInvoker
from local.service import LocalService

ROUNDS = 20
PARALLEL = 10
AGENT_SECONDS = "3"
PLATFORM = CHATS[0].name


def run() -> Iterator[tuple[str, str]]:
    """With an instant agent, then with a slow one."""
    yield from _instant()
    yield from _slow()


def _instant() -> Iterator[tuple[str, str]]:
    """One after the other, then in parallel, after a warm-up."""
    with LocalService() as service, _client(service) as http:
        _hand_off(http)
        polls = [_timed(lambda: http.get("/platforms").raise_for_status()) for _ in range(ROUNDS)]
        alone = [_timed(lambda: _hand_off(http)) for _ in range(ROUNDS)]
        together = _timed(lambda: _in_parallel(http, pause=0.005))
    poll, whole = statistics.median(polls), statistics.median(alone)
    yield "one poll (GET /platforms), p50", f"{poll * 1000:.0f} ms"
    yield "one handoff, request to completed, p50", f"{whole / poll:5.1f} × a poll ({whole * 1000:.0f} ms)"
    slow = sorted(alone)[int(ROUNDS * 0.95) - 1]
    yield "one handoff, p95", f"{slow / whole:5.1f} × its p50"
    yield f"{PARALLEL} handoffs in parallel", f"{together / whole:5.1f} × one alone"


def _slow() -> Iterator[tuple[str, str]]:
    """In parallel right after the start, and again; compared with one alone."""
    with LocalService(parameters={"RehearsalSeconds": AGENT_SECONDS}) as service, _client(service) as http:
        if isinstance(service.invoker, RuntimeInvoker):
            service.invoker.wait_warm()
        first = _timed(lambda: _in_parallel(http, pause=0.1))
        alone = _timed(lambda: _hand_off(http, pause=0.1))
        again = _timed(lambda: _in_parallel(http, pause=0.1))
    yield (
        f"{PARALLEL} in parallel with {AGENT_SECONDS} s agents, just started",
        f"{first / alone:5.2f} × one alone ({first:.1f} s)",
    )
    yield (
        f"{PARALLEL} in parallel with {AGENT_SECONDS} s agents, again",
        f"{again / alone:5.2f} × one alone ({again:.1f} s)",
    )


def _client(service: LocalService) -> httpx.Client:
    headers = {"Authorization": f"Bearer {service.tokens['owner']}"}
    return httpx.Client(base_url=service.url, headers=headers, timeout=60)


def _in_parallel(http: httpx.Client, *, pause: float) -> None:
    with ThreadPoolExecutor(PARALLEL) as pool:
        list(pool.map(lambda _: _hand_off(http, pause=pause), range(PARALLEL)))


def _hand_off(http: httpx.Client, *, pause: float = 0.005) -> None:
    body = {"platform": PLATFORM, "session": {"title": "Bench", "messages": [{"role": "user", "content": "hi"}]}}
    answer = http.post("/handoffs", json=body, headers={"Idempotency-Key": uuid.uuid4().hex}).raise_for_status().json()
    while not answer["done"]:
        time.sleep(pause)
        answer = http.get(f"/handoffs/{answer['id']}").raise_for_status().json()
    if answer["error"]:
        raise RuntimeError(answer["error"]["message"])


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
