"""Orders over HTTP: polled, taken, renewed and answered by the runner, and by no other token."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from functions.http.app import http_app
from local.server.held_reads import HeldReads, subject_of
from shared.domain.routes import Place
from shared.domain.tokens import Scope
from shared.ports.tables import Table
from tests.support.machine import Machine, post, shown
from tests.support.memory_api import MODULES, MemoryApi
from tests.support.problems import problem_code
from tests.support.use_case_world import HOME, USER

DIGEST = "0" * 64
LONG = 20.0


def call(client: httpx.Client, order_id: str, verb: str, **body: object) -> httpx.Response:
    return client.post(f"/runners/laptop/orders/{order_id}/{verb}", json=body)


def take(client: httpx.Client, order_id: str) -> httpx.Response:
    return call(client, order_id, "take", claim_id="c-1")


def answer(client: httpx.Client, order_id: str, **more: object) -> httpx.Response:
    said = {"fence": 1, "digest": DIGEST, "outcome": "done", "current": "haiku", **more}
    return call(client, order_id, "answer", **said)


@pytest.fixture
def place(api: MemoryApi) -> Place:
    """A thread of a session on the laptop, where the person asked for another model."""
    place = Machine(api.world).moved()
    post(api.world, place, "0001", "/model haiku")
    return place


def waiting(client: httpx.Client) -> list[str]:
    polled = client.get("/runners/laptop/turns").raise_for_status().json()
    return [order["order_id"] for order in polled["orders"]]


def test_a_runner_takes_renews_and_answers_an_order(api: MemoryApi, place: Place) -> None:
    runner = api.client(USER, Scope.RUN)
    polled = runner.get("/runners/laptop/turns").json()
    (order,) = polled["orders"]
    named = {"kind": "model", "session_id": "s-1", "agent": "claude-code", "native_id": "n-1"}
    assert order == {"order_id": order["order_id"], **named}
    taken = take(runner, order["order_id"]).json()
    assert taken == {**order, "argument": "haiku", "fence": 1, "lease_seconds": 60, "ends_in": 180}
    assert waiting(runner) == []
    assert call(runner, order["order_id"], "renew", fence=1).json() == {"lease_seconds": 60}
    options = [{"value": "haiku", "name": "Haiku"}]
    for _ in range(2):
        assert answer(runner, order["order_id"], options=options).json() == {"state": "done"}
    api.world.messages()
    assert shown(api.world, place) == ["Model: `haiku`, from the next message on."]


def test_a_claim_says_what_the_person_has_chosen(api: MemoryApi, place: Place) -> None:
    runner = api.client(USER, Scope.RUN)
    (order,) = waiting(runner)
    take(runner, order)
    answer(runner, order)
    post(api.world, place, "0002", "And?")
    (turn,) = runner.get("/runners/laptop/turns").json()["turns"]
    claimed = runner.post(
        f"/runners/laptop/turns/{turn['turn_id']}/claim", json={"session_id": "s-1", "claim_id": "c-2"}
    )
    assert claimed.json()["dials"] == {"model": "haiku"}


REFUSALS: dict[str, Callable[[httpx.Client, str], httpx.Response]] = {
    "unknown_order": lambda client, _: take(client, "another"),
    "unknown_runner": lambda client, order: client.post(
        f"/runners/desktop/orders/{order}/take", json={"claim_id": "c-1"}
    ),
    "taken": lambda client, order: take(client, order) and call(client, order, "take", claim_id="c-2"),
    "ended": answer,
    "other_result": lambda client, order: (
        take(client, order) and answer(client, order) and answer(client, order, digest="1" * 64)
    ),
    "invalid_request": lambda client, order: take(client, order) and answer(client, order, outcome="perhaps"),
}


@pytest.mark.parametrize("code", REFUSALS)
def test_a_refusal_has_its_code(api: MemoryApi, place: Place, code: str) -> None:
    runner = api.client(USER, Scope.RUN)
    assert problem_code(REFUSALS[code](runner, waiting(runner)[0])) == code
    assert place


def test_a_revoked_runner_is_told_so(api: MemoryApi, place: Place) -> None:
    runner = api.client(USER, Scope.RUN)
    (order,) = waiting(runner)
    api.client(USER).delete("/runners/laptop").raise_for_status()
    assert problem_code(take(runner, order)) == "runner_revoked"
    assert place


@pytest.mark.parametrize("scope", list(Scope))
def test_only_the_scope_run_takes_and_answers(api: MemoryApi, place: Place, scope: Scope) -> None:
    (order,) = waiting(api.client(USER))
    client = api.client(USER, scope)
    answers = [
        client.get("/runners/laptop/turns"),
        take(client, order),
        call(client, order, "renew", fence=1),
        answer(client, order),
    ]
    if scope is Scope.RUN:
        assert not any(found.is_error for found in answers)
    else:
        assert {problem_code(found) for found in answers} == {"missing_scope"}
        assert waiting(api.client(USER)) == [order]
    assert place


def begins(api: MemoryApi) -> str:
    """An order that lets its runner store one session and request one handoff, and is taken."""
    Machine(api.world, projects=("shop",))
    post(api.world, HOME, "0001", "/new shop hello")
    (order,) = waiting(api.client(USER))
    take(api.client(USER), order).raise_for_status()
    return order


def move(client: httpx.Client, order_id: str, runner: str = "laptop") -> list[httpx.Response]:
    """Each call by which a session is moved."""
    path = f"/runners/{runner}/orders/{order_id}"
    said = [{"role": "user", "content": "hello"}]
    made = {"fence": 1, "session_id": "s-9", "agent": "claude-code", "project": "shop"}
    return [
        client.put(f"{path}/session", json=made),
        client.post(f"{path}/messages", json={"fence": 1, "after": 0, "messages": said}),
        client.post(f"{path}/handoff", json={"fence": 1}),
    ]


@pytest.mark.parametrize("scope", list(Scope))
def test_only_the_scope_run_moves_a_session_by_an_order(api: MemoryApi, scope: Scope) -> None:
    order = begins(api)
    answers = move(api.client(USER, scope), order)
    if scope is Scope.RUN:
        assert not any(found.is_error for found in answers)
    else:
        assert [problem_code(found) for found in answers] == ["missing_scope"] * 3
        assert api.world.store.sessions.get("s-9") is None


@pytest.mark.parametrize(
    ("user", "runner", "code"),
    [(USER, "tower", "unknown_order"), ("eve", "laptop", "unknown_order"), ("eve", "nobody", "unknown_runner")],
    ids=["another runner of the user", "another user's of the same name", "no runner"],
)
def test_no_other_runner_moves_a_session_by_an_order(api: MemoryApi, user: str, runner: str, code: str) -> None:
    order = begins(api)
    if runner != "nobody":
        Machine(api.world, runner, user)
    answers = move(api.client(user, Scope.RUN), order, runner)
    assert [problem_code(found) for found in answers] == [code] * 3
    assert api.world.store.sessions.get("s-9") is None
    assert not any(api.world.store.handoffs.list(one, session_id=None, state=None, limit=1) for one in (USER, user))


@pytest.mark.parametrize("scope", list(Scope))
def test_no_call_makes_an_order(api: MemoryApi, scope: Scope) -> None:
    Machine(api.world).moved()
    client = api.client(USER, scope)
    for path in ("/runners/laptop/orders", "/orders"):
        assert client.post(path, json={"kind": "model", "argument": "haiku"}).status_code in (404, 405)
    assert waiting(api.client(USER)) == []


def test_another_users_runner_of_the_same_name_finds_nothing(api: MemoryApi, place: Place) -> None:
    (order,) = waiting(api.client(USER))
    Machine(api.world, user="eve")
    eve = api.client("eve")
    assert waiting(eve) == []
    assert problem_code(take(eve, order)) == "unknown_order"
    assert place


def held_poll(api: MemoryApi, place: Place, text: str, *, warm: str = "") -> dict[str, Any]:
    """A poll that is held, until the person writes this in the thread: what it is answered."""
    held = HeldReads()
    app = http_app(replace(api.world.services, changes=held), *(module.router for module in MODULES))
    headers, path = dict(api.client(USER, Scope.RUN).headers), f"/runners/laptop/turns?wait={LONG}{warm}"

    async def poll() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
            asked = asyncio.create_task(client.get(path, headers=headers))
            while not held.count:  # noqa: ASYNC110  # the loop must run, and nothing tells when it has
                await asyncio.sleep(0)
            before = api.tables.scan(Table.SESSIONS)
            await asyncio.to_thread(post, api.world, place, "0001", text)
            for item in api.tables.scan(Table.SESSIONS):
                if item not in before and (subject := subject_of(Table.SESSIONS, item)):
                    held.changed(subject)
            return await asked

    answered: dict[str, Any] = asyncio.run(poll()).raise_for_status().json()
    return answered


def test_a_held_poll_wakes_for_an_order(api: MemoryApi) -> None:
    place = Machine(api.world).moved()
    assert len(held_poll(api, place, "/model")["orders"]) == 1


def test_a_held_poll_wakes_for_an_open_session_that_is_not_this_runners_any_more(api: MemoryApi) -> None:
    place = Machine(api.world).moved()
    assert held_poll(api, place, "/cloud", warm="&warm=s-1")["release"] == ["s-1"]
