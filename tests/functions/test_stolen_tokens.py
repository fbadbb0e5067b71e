"""A stolen token of one scope: each cell of the table in SECURITY.md, tried."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from shared.domain.routes import Place
from shared.domain.tokens import Scope
from shared.ports.inbound import WebhookRequest
from shared.use_cases.chat.receive_message import receive_message
from tests.support.machine import Machine, post
from tests.support.memory_api import MemoryApi
from tests.support.problems import problem_code
from tests.support.use_case_world import HOME, USER

SECURITY = Path(__file__).parents[2] / "SECURITY.md"
HEAD = "| to try with a stolen token of only | `read` | `handoff` | `run` | `link` | `admin` |"
THIEF = "thief-phone"


def reads(_: MemoryApi, thief: httpx.Client) -> bool:
    answers = [thief.get(path) for path in ("/sessions/s-1/messages", "/handoffs", "/tokens", "/platforms")]
    return all(answer.status_code == 200 for answer in answers) and "hello" in answers[0].text


def hands_over(api: MemoryApi, thief: httpx.Client) -> bool:
    body = {"session_id": "s-1", "platform": "chat", "epoch": 0, "message": "do something else"}
    thief.post("/handoffs", json=body)
    return bool(api.world.store.handoffs.list(USER, session_id=None, state=None, limit=1))


def writes(api: MemoryApi, thief: httpx.Client) -> bool:
    body = {"epoch": 0, "after": 2, "messages": [{"role": "user", "content": "not mine"}]}
    thief.post("/sessions/s-1/messages", json=body)
    thief.delete("/sessions/s-1")
    return api.world.store.sessions.get("s-1") is None


def moves_home(api: MemoryApi, thief: httpx.Client) -> bool:
    thief.put("/platforms/chat/home", json={"chat": "elsewhere"})
    return api.world.store.accounts.home(USER, "chat") != HOME


def makes_tokens(api: MemoryApi, thief: httpx.Client) -> bool:
    before = len(api.world.store.accounts.tokens(USER))
    thief.post("/tokens", json={})
    return len(api.world.store.accounts.tokens(USER)) > before


def revokes_tokens(api: MemoryApi, thief: httpx.Client) -> bool:
    first = api.client(USER)
    thief.delete(f"/tokens/{first.get('/tokens').json()['current']}")
    return first.get("/tokens").status_code == 401


def gains_scopes(api: MemoryApi, thief: httpx.Client) -> bool:
    (stolen,) = api.world.store.accounts.tokens(USER)
    for scope in Scope:
        thief.post("/tokens", json={"scopes": [scope]})
    return not all(stolen.allows(scope) for token in api.world.store.accounts.tokens(USER) for scope in token.scopes)


def runs_turns(api: MemoryApi, thief: httpx.Client) -> bool:
    thief.put("/runners/theirs", json={"name": "theirs", "protocol": 1})
    return bool(api.world.store.runners.list(USER))


def orders(api: MemoryApi, thief: httpx.Client) -> bool:
    """By every call that might."""
    Machine(api.world).moved()
    thief.post("/runners/laptop/orders", json={"kind": "model", "argument": "haiku"})
    return bool(api.world.store.orders.of(USER, "laptop"))


def answers_orders(api: MemoryApi, thief: httpx.Client) -> bool:
    place = Machine(api.world).moved()
    post(api.world, place, "0001", "/model haiku")
    (order,) = api.world.store.orders.of(USER, "laptop")
    path, lie = f"/runners/laptop/orders/{order.id}", {"fence": 1, "digest": "0" * 64, "outcome": "done"}
    thief.post(f"{path}/take", json={"claim_id": "c-1"})
    thief.post(f"{path}/answer", json={**lie, "current": "another"})
    return bool(api.world.current().dials)


def lists_native_sessions(api: MemoryApi, thief: httpx.Client) -> bool:
    """By every call that might make the machine tell them."""
    Machine(api.world)
    for kind in ("sessions", "bring", "begin", "diff"):
        thief.post("/runners/laptop/orders", json={"kind": kind, "argument": "/"})
        thief.post(f"/runners/laptop/{kind}", json={"argument": "/"})
    return bool(api.world.store.orders.of(USER, "laptop"))


def moves_by_an_order(api: MemoryApi, thief: httpx.Client) -> bool:
    """While an order of the user is open, which asks for one: another session than the machine's into the user's chat."""
    Machine(api.world, projects=("shop",))
    post(api.world, HOME, "0001", "/new shop hello")
    (order,) = api.world.store.orders.of(USER, "laptop")
    path = f"/runners/laptop/orders/{order.id}"
    thief.post(f"{path}/take", json={"claim_id": "c-1"})
    made = {"fence": 1, "session_id": "forged", "agent": "claude-code", "project": "shop"}
    thief.put(f"{path}/session", json=made)
    lie = [{"role": "user", "content": "not mine"}]
    thief.post(f"{path}/messages", json={"fence": 1, "after": 0, "messages": lie})
    thief.post(f"{path}/handoff", json={"fence": 1})
    return bool(api.world.store.handoffs.list(USER, session_id=None, state=None, limit=1))


def moves_another_by_an_order(api: MemoryApi, thief: httpx.Client) -> bool:
    """The session of another agent, two sessions, two handoffs, or without an order."""
    Machine(api.world, projects=("shop",))
    post(api.world, HOME, "0001", "/new shop hello")
    (order,) = api.world.store.orders.of(USER, "laptop")
    for order_id in (order.id, "unknown"):
        path = f"/runners/laptop/orders/{order_id}"
        thief.post(f"{path}/take", json={"claim_id": "c-1"})
        made = {"fence": 1, "agent": "claude-code", "project": "shop"}
        for session_id in ("s-1", "first", "second"):
            thief.put(f"{path}/session", json={**made, "session_id": session_id})
        for _ in range(2):
            thief.post(f"{path}/handoff", json={"fence": 1})
    found = api.world.store.handoffs.list(USER, session_id=None, state=None, limit=9)
    return (
        len(found) > 1
        or api.world.store.sessions.get("second") is not None
        or any(one.session_id == "s-1" for one in found)
    )


def links(api: MemoryApi, thief: httpx.Client) -> bool:
    _send(api, thief.post("/links", json={"platform": "chat", "home": True}))
    return api.world.store.accounts.user_of("chat", THIEF) == USER


def unlinks(api: MemoryApi, thief: httpx.Client) -> bool:
    thief.delete("/links/chat")
    return not api.world.store.accounts.identities(USER, "chat")


def changes_users(api: MemoryApi, thief: httpx.Client) -> bool:
    thief.post("/users", json={"id": "mallory"})
    thief.delete("/users/bob")
    return "mallory" in api.world.store.accounts.users() and "bob" not in api.world.store.accounts.users()


def invites(api: MemoryApi, thief: httpx.Client) -> bool:
    _send(api, thief.post("/invitations", json={"platform": "chat", "name": "mallory"}))
    return api.world.store.accounts.user_of("chat", THIEF) is not None


def becomes_another(api: MemoryApi, thief: httpx.Client) -> bool:
    """By a user that the thief adds."""
    made = thief.post("/users", json={"id": "mallory"})
    if made.status_code == 201:
        _send(api, api.with_token(made.json()["token"]).post("/links", json={"platform": "chat"}))
    return api.world.store.accounts.user_of("chat", THIEF) is not None


def _send(api: MemoryApi, made: httpx.Response) -> None:
    """The thief sends the code, if there is one, to the bot."""
    if made.status_code == 201:
        webhook = WebhookRequest(f"dm1||{made.json()['code']}|{THIEF}".encode(), {"signature": "good"})
        receive_message(api.world.services, "chat", webhook)


ATTEMPTS: dict[str, Callable[[MemoryApi, httpx.Client], bool]] = {
    "read your sessions, handoffs, homes and the ids of your tokens": reads,
    "hand a session over, with words for your agent": hands_over,
    "write to a session, delete it": writes,
    "change your home": moves_home,
    "make further tokens": makes_tokens,
    "make a token with a scope that it does not have": gains_scopes,
    "revoke your tokens": revokes_tokens,
    "register as your machine, to claim turns and reply as your agent": runs_turns,
    "ask something of your machine, such as `/model`": orders,
    "answer falsely what you ask of your machine": answers_orders,
    "let your machine list or bring its sessions, begin one or show files": lists_native_sessions,
    "send a forged session to the chat in which you ask for one right now": moves_by_an_order,
    "send another session there, or a second one": moves_another_by_an_order,
    "link an account, which then talks and approves as you": links,
    "unlink your accounts": unlinks,
    "add and remove users": changes_users,
    "invite a user": invites,
    "link an account to a user that it adds": becomes_another,
}


OVER: dict[Callable[[MemoryApi, httpx.Client], bool], set[str]] = {
    moves_by_an_order: {"ended", "unknown_session"},
    moves_another_by_an_order: {"ended", "unknown_session", "unknown_order", "conflict"},
}
"""Other refusals of calls that the token may make."""


def rows() -> dict[str, dict[str, str]]:
    """The cells of the table by row and scope."""
    lines = SECURITY.read_text().split(HEAD)[1].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: dict(zip(("read", "handoff", "run", "link", "admin"), found, strict=True)) for name, *found in cells}


def test_every_scope_and_every_attempt_has_a_cell() -> None:
    found = rows()
    assert list(found) == list(ATTEMPTS)
    assert {scope for row in found.values() for scope in row} == set(Scope)
    assert {cell for row in found.values() for cell in row.values()} == {"yes", "no"}


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize("attempt", list(ATTEMPTS))
def test_a_stolen_token_can_do_what_the_table_says(api: MemoryApi, attempt: str, scope: Scope) -> None:
    api.world.session()
    api.world.store.accounts.add_identity("bob", "chat", "bob-there")
    thief = api.client(USER, scope)
    answers: list[httpx.Response] = []
    thief.event_hooks["response"].append(answers.append)

    succeeded = ATTEMPTS[attempt](api, thief)

    assert succeeded is (rows()[attempt][scope] == "yes")
    refused = {problem_code(answer) for answer in answers if answer.is_error}
    assert refused <= {"missing_scope", "not_found", *OVER.get(ATTEMPTS[attempt], set())}


def test_what_a_thief_linked_is_told_and_taken_back(api: MemoryApi) -> None:
    thief, first = api.client(USER, Scope.LINK), api.client(USER)
    assert links(api, thief)
    api.world.turns()
    stolen = thief.get("/tokens").json()["current"]
    (said,) = api.world.platform.said(HOME)
    assert f"handoff tokens revoke {stolen} --unlink" in said

    first.delete(f"/tokens/{stolen}?unlink=true").raise_for_status()

    assert api.world.store.accounts.user_of("chat", THIEF) is None
    assert Place("chat", f"with-{THIEF}") not in api.world.store.accounts.chats(USER)


def test_a_thief_who_moves_the_home_first_is_told_of_there(api: MemoryApi) -> None:
    thief = api.client(USER)
    stolen = thief.get("/tokens").json()["current"]
    for _ in range(2):
        thief.put("/platforms/chat/home", json={"chat": "elsewhere"}).raise_for_status()
    assert links(api, thief)
    api.world.turns()
    (said,) = api.world.platform.said(HOME)
    assert f"handoff tokens revoke {stolen} --unlink" in said
