"""What a whole handoff costs on the real runtime: in multiples of one look with an instant agent, and in a crowd."""

import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx

from local.cloud.runtime.invoker import RuntimeInvoker
from local.service import LocalService

ROUNDS = 20
AT_ONCE = 10
SLOW = "3"  # seconds of an agent


def run() -> Iterator[tuple[str, str]]:
    """Instant agents, then slow ones."""
    yield from _instant()
    yield from _slow()


def _instant() -> Iterator[tuple[str, str]]:
    """One after the other, then several at once; warmed up first."""
    with LocalService() as service, _client(service) as http:
        _hand_over(http)
        looks = [_timed(lambda: http.get("/platforms").raise_for_status()) for _ in range(ROUNDS)]
        alone = [_timed(lambda: _hand_over(http)) for _ in range(ROUNDS)]
        together = _timed(lambda: _together(http, pause=0.005))
    look, whole = statistics.median(looks), statistics.median(alone)
    yield "one look (GET /platforms), p50", f"{look * 1000:.0f} ms"
    yield "one handoff, request to completed, p50", f"{whole / look:5.1f} × a look ({whole * 1000:.0f} ms)"
    slow = sorted(alone)[int(ROUNDS * 0.95) - 1]
    yield "one handoff, p95", f"{slow / whole:5.1f} × its p50"
    yield f"{AT_ONCE} handoffs at once", f"{together / whole:5.1f} × one alone"


def _slow() -> Iterator[tuple[str, str]]:
    """A crowd that finds the service just started, then once more; compared with one of them alone."""
    with LocalService(parameters={"RehearsalSeconds": SLOW}) as service, _client(service) as http:
        if isinstance(service.invoker, RuntimeInvoker):
            service.invoker.wait_warm()
        first = _timed(lambda: _together(http, pause=0.1))
        alone = _timed(lambda: _hand_over(http, pause=0.1))
        again = _timed(lambda: _together(http, pause=0.1))
    yield f"{AT_ONCE} at once with {SLOW} s agents, just started", f"{first / alone:5.2f} × one alone ({first:.1f} s)"
    yield f"{AT_ONCE} at once with {SLOW} s agents, once more", f"{again / alone:5.2f} × one alone ({again:.1f} s)"


def _client(service: LocalService) -> httpx.Client:
    headers = {"Authorization": f"Bearer {service.tokens['owner']}"}
    return httpx.Client(base_url=service.url, headers=headers, timeout=60)


def _together(http: httpx.Client, *, pause: float) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda _: _hand_over(http, pause=pause), range(AT_ONCE)))


def _hand_over(http: httpx.Client, *, pause: float = 0.005) -> None:
    body = {"platform": "telegram", "session": {"title": "bench", "messages": [{"role": "user", "content": "hi"}]}}
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
