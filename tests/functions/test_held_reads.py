"""Held reads over HTTP: a caller whose token is revoked in the meantime gets no data."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import httpx
import pytest

from functions.http.app import http_app
from local.server.held_reads import HeldReads
from shared.domain.tokens import Scope
from shared.ports.changes import of_session
from shared.use_cases.runners.register import register_runner
from tests.support.memory_api import MODULES, MemoryApi
from tests.support.problems import problem_code
from tests.support.use_case_world import USER

SOON, LATE = 0.05, 20
End = Callable[[MemoryApi, HeldReads], None]


def time_is_over(_: MemoryApi, __: HeldReads) -> None:
    pass


def service_stops(_: MemoryApi, held: HeldReads) -> None:
    held.close()


def session_changes(api: MemoryApi, held: HeldReads) -> None:
    session = api.world.store.sessions.get("s-1")
    assert session is not None
    api.world.store.transcripts.append(session, [{"role": "user", "content": "more"}], now=api.world.clock.now())
    held.changed(of_session("s-1"))


@pytest.mark.parametrize("path", ["/sessions/s-1", "/handoffs/{handoff}", "/runners/laptop/turns"])
@pytest.mark.parametrize(("end", "seconds"), [(time_is_over, SOON), (service_stops, LATE)])
def test_a_revoked_token_reads_nothing_that_was_held(api: MemoryApi, path: str, end: End, seconds: float) -> None:
    api.world.session()
    register_runner(api.world.services, USER, "laptop", name="laptop", agents={}, version="1", protocol=1)
    answer = held_while_revoked(api, path.format(handoff=api.world.ask().id), end, seconds)
    assert problem_code(answer) == "unauthenticated"


def test_a_revoked_token_reads_no_news(api: MemoryApi) -> None:
    api.world.session()
    assert problem_code(held_while_revoked(api, "/sessions/s-1", session_changes, LATE)) == "unauthenticated"


def test_a_token_that_is_still_valid_reads_news(api: MemoryApi) -> None:
    api.world.session()
    answer = held_while_revoked(api, "/sessions/s-1", session_changes, LATE, is_revoked=False)
    assert answer.json()["message_count"] == 3


def held_while_revoked(
    api: MemoryApi, path: str, end: End, seconds: float, *, is_revoked: bool = True
) -> httpx.Response:
    """The answer to a read whose token is revoked while it is held."""
    held = HeldReads()
    app = http_app(replace(api.world.services, changes=held), *(module.router for module in MODULES))
    caller = api.client(USER, Scope.HANDOFF, Scope.RUN)
    token_id = caller.get("/tokens").json()["current"]

    async def body() -> httpx.Response:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://test", headers=caller.headers
        ) as http:
            reading = asyncio.ensure_future(http.get(path, params={"wait": seconds}))
            while held.count == 0:  # noqa: ASYNC110  # the loop must run, and nothing tells when it has
                await asyncio.sleep(0)
            if is_revoked:
                assert api.world.store.accounts.remove_token(USER, token_id)
            end(api, held)
            return await reading

    return asyncio.run(body())
