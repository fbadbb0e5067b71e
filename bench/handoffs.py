"""What a whole handoff costs, in multiples of one look at its status, on the real runtime with an instant agent."""

import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx

from local.service import LocalService

ROUNDS = 20
AT_ONCE = 8


def run() -> Iterator[tuple[str, str]]:
    """One after the other, then several at once; warmed up first."""
    with LocalService() as service:
        headers = {"Authorization": f"Bearer {service.tokens['owner']}"}
        with httpx.Client(base_url=service.url, headers=headers, timeout=60) as http:
            _hand_over(http)
            looks = [_timed(lambda: http.get("/platforms").raise_for_status()) for _ in range(ROUNDS)]
            alone = [_timed(lambda: _hand_over(http)) for _ in range(ROUNDS)]
            began = time.perf_counter()
            with ThreadPoolExecutor(AT_ONCE) as pool:
                list(pool.map(lambda _: _hand_over(http), range(AT_ONCE)))
            together = time.perf_counter() - began
    look, whole = statistics.median(looks), statistics.median(alone)
    yield "one look (GET /platforms), p50", f"{look * 1000:.0f} ms"
    yield "one handoff, request to completed, p50", f"{whole / look:5.1f} × a look ({whole * 1000:.0f} ms)"
    slow = sorted(alone)[int(ROUNDS * 0.95) - 1]
    yield "one handoff, p95", f"{slow / whole:5.1f} × its p50"
    yield f"{AT_ONCE} handoffs at once", f"{together / whole:5.1f} × one alone"


def _hand_over(http: httpx.Client) -> None:
    body = {"platform": "telegram", "session": {"title": "bench", "messages": [{"role": "user", "content": "hi"}]}}
    answer = http.post("/handoffs", json=body, headers={"Idempotency-Key": uuid.uuid4().hex}).raise_for_status().json()
    while not answer["done"]:
        time.sleep(0.005)
        answer = http.get(f"/handoffs/{answer['id']}").raise_for_status().json()
    if answer["error"]:
        raise RuntimeError(answer["error"]["message"])


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
