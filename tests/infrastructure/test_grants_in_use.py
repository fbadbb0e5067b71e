"""Grants and use match: a walk through the service under enforced roles needs every grant, and no other.

Functions call under their roles, and so do the event sources that wake them. A missing grant stops the walk, and its end
says which it was. An unused one is found at the end.
"""

import base64
import hashlib
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from local.cloud.moto_patches.access import Grant
from local.service import LocalService
from shared.domain.offers import Offer
from shared.domain.routes import Place, cli_place
from shared.domain.sessions import Session
from shared.domain.tokens import Scope
from shared.ports.queue import InboxEvent, Run
from shared.ports.queue_text import body_of, run_body_of
from shared.store.inbox import InboxRow
from shared.use_cases.recovery.unsettled_turns import NUDGES
from tests.journeys.test_sent_files import sent, store
from tests.support.api_user import ApiUser, add_user
from tests.support.http_machine import Machine, MachineThread
from tests.support.waiting import eventually

PATIENCE = 60.0
# Grants that only rare cases need, which the walk does not cause: ending a handoff while its session moves, and
# offering a kickoff again that was taken back from a machine.
RARE = {(name, "dynamodb:ConditionCheckItem", "SessionsTable") for name in ("Process", "Sweep")} | {
    ("Turn", "dynamodb:ConditionCheckItem", "HandoffsTable")
}
# What lets AWS answer 404 for a missing object, as moto does in any case; and pictures for a model that sees.
RARE |= {(name, "s3:ListBucket", "FilesBucket") for name in ("Status", "Turn", "Agent", "Sweep")} | {
    ("Agent", "s3:GetObject", "FilesBucket/*")
}


@pytest.fixture(scope="module")
def service() -> Iterator[LocalService]:
    with LocalService(mode="in_process") as running:
        yield running


Grants = set[tuple[str, str, str]]
"""Each a function, an action, and a resource by its logical id."""


@pytest.fixture(scope="module")
def walked(service: LocalService) -> LocalService:
    """The service after the walk."""
    user = ApiUser(service)
    try:
        for part in (
            _look_around,
            _hand_over_and_talk,
            _use_the_terminal,
            _send_files,
            _run_on_a_machine,
            _add_and_remove_a_user,
            _let_sweep_work,
            _lose_runs,
            _lose_a_record,
        ):
            part(user)
    except Exception as stopped:
        stopped.add_note(f"Denied so far: {_denied(service)}")
        raise
    return service


def _unused(service: LocalService) -> Grants:
    """What no function has needed. Lambda alone writes logs, and does so elsewhere."""
    roles = [function.role_arn for function in service.stack.functions.values()]
    unused = [grant for role in roles for grant in service.engine.access.unused(role)]
    return _named(service, (grant for grant in unused if not grant.action.startswith("logs:")))


def _denied(service: LocalService) -> Grants:
    return _named(service, service.engine.access.denied)


def _named(service: LocalService, grants: Iterable[Grant]) -> Grants:
    names = {function.role_arn: name.removesuffix("Function") for name, function in service.stack.functions.items()}
    return {(names[grant.role], grant.action, _logical(service, grant.resource)) for grant in grants}


def _look_around(user: ApiUser) -> None:
    session_id = user.create_session()
    for path in ("/platforms", "/sessions", f"/sessions/{session_id}", f"/sessions/{session_id}/messages", "/handoffs"):
        user.http.get(path).raise_for_status()


def _hand_over_and_talk(user: ApiUser) -> None:
    title = f"walk {uuid.uuid4().hex[:6]}"
    done = user.hand_off(user.create_session(title=title))
    assert done["error"] is None
    (thread,) = user.threads(title)
    say = user.service.simulator.say
    user.service.simulator.arm("telegram", "redeliver")
    say("telegram", thread["chat"], "And now?", thread=thread["id"])
    _wait_for_words(user, title, "And now?")
    say("telegram", thread["chat"], "/resume", thread=thread["id"])
    _wait_for_words(user, title, "Your sessions")
    say("telegram", "-1002", "Is anybody here?")  # a chat without a session: is a handoff on its way to it?
    place = Place("telegram", thread["chat"], thread["id"])
    user.service.store.inbox.put(InboxRow(place, "0", "7001", "never answered", 1, "owner"))
    say("telegram", thread["chat"], "/stop", thread=thread["id"])
    _wait_for_words(user, title, "Stopped")
    say("telegram", thread["chat"], "/handoff slack", thread=thread["id"])
    _wait_for_words(user, title, "moved to slack")
    say("telegram", thread["chat"], "/new", thread=thread["id"])
    _wait_for_words(user, title, "new session")


def _use_the_terminal(user: ApiUser) -> None:
    http = user.http
    http.put("/platforms/telegram/home", json={"chat": "7001"}).raise_for_status()
    http.post("/notices", json={"text": "done"}).raise_for_status()
    session_id = user.create_session(title="at the terminal")
    http.put(f"/sessions/{session_id}", json={"title": "renamed"}).raise_for_status()
    turn = {"epoch": 0, "id": "t1", "text": "What next?"}
    http.post(f"/sessions/{session_id}/turns", json=turn).raise_for_status()
    eventually(lambda: len(user.transcript(session_id)) == 6, within=PATIENCE)
    http.post(f"/sessions/{session_id}/resume", json={"epoch": 0, "fork": True}).raise_for_status()
    user.hand_off(session_id)
    http.post(f"/sessions/{session_id}/resume", json={"epoch": 1}).raise_for_status()
    user.service.simulator.arm("telegram", "rate_limit", seconds=600, on="open_thread")
    waiting = user.create_session()
    handoff_id = user.request_handoff(waiting).json()["id"]
    _wait_for_rate_limit(user, handoff_id)
    http.delete(f"/handoffs/{handoff_id}").raise_for_status()
    http.delete(f"/sessions/{session_id}").raise_for_status()
    refused = user.hand_off(user.create_session(), target="-1002", require_thread=True)  # a group has no threads
    assert refused["error"] is not None


def _send_files(user: ApiUser) -> None:
    """Upload, read and delete one over HTTP, send one in a thread, and let one expire that never came."""
    http, session_id, content = user.http, user.create_session(), b"a picture"
    asked = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "name": "a.png"}
    upload = http.post(f"/sessions/{session_id}/files", json=asked).raise_for_status().json()["upload"]
    httpx.put(upload["url"], content=content, headers=upload["headers"]).raise_for_status()
    file = http.post(f"/sessions/{session_id}/files", json=asked).raise_for_status().json()
    where = http.get(f"/sessions/{session_id}/files/{file['id']}").headers["location"]
    assert httpx.get(where).content == content
    copy = http.post(f"/sessions/{session_id}/resume", json={"epoch": 0, "fork": True}).raise_for_status().json()
    where = http.get(f"/sessions/{copy['id']}/files/{file['id']}").headers["location"]
    assert httpx.get(where).content == content
    http.delete(f"/sessions/{session_id}").raise_for_status()

    title = f"files {uuid.uuid4().hex[:6]}"
    moved = user.create_session(title=title)
    assert user.hand_off(moved)["error"] is None
    (thread,) = user.threads(title)
    given = [{"name": "run.log", "type": "text/plain", "data": base64.b64encode(content).decode()}]
    user.service.simulator.say("telegram", thread["chat"], "Look at it", thread=thread["id"], files=given)
    _wait_for_words(user, title, "Look at it")

    waiting = user.create_session()
    never = http.post(f"/sessions/{waiting}/files", json={"sha256": "0" * 64, "size": 1}).raise_for_status().json()
    user.service.engine.client("dynamodb").update_item(
        TableName=user.service.stack.resources["SessionsTable"],
        Key={"pk": {"S": f"SESSION#{waiting}"}, "sk": {"S": f"FILE#{never['id']}"}},
        UpdateExpression="SET due_at = :past",
        ExpressionAttributeValues={":past": {"N": "1"}},
    )
    user.service.sweep_now()
    assert user.service.store.files.of(waiting) == []


def _run_on_a_machine(user: ApiUser) -> None:
    machine = Machine(user)
    thread = MachineThread(user, machine)
    thread.say("write the file")
    turn = machine.claim(thread.session_id).begin()
    turn.ask()
    thread.press(thread.question(), "Allow")
    assert turn.decision() == "yes"
    file = {"n": 1, "file": store(user, thread.session_id, b"a plot", "plot.txt", "text/plain")}
    assert sent(turn, file) == ["sent"]
    turn.reply("done").raise_for_status()
    thread.wait_for("done", within=PATIENCE)
    thread.say("/cloud")
    thread.wait_for("The model of this service answers here now", within=PATIENCE)
    user.http.delete(f"/runners/{machine.id}").raise_for_status()


def _add_and_remove_a_user(user: ApiUser) -> None:
    admin = add_user(user.service, "admin", scopes=frozenset(Scope))
    admin.http.get("/users").raise_for_status()
    made = admin.http.post("/users", json={"id": "guest"}).raise_for_status().json()
    with httpx.Client(base_url=user.service.url, headers={"Authorization": f"Bearer {made['token']}"}) as guest:
        token_id = guest.post("/tokens", json={}).raise_for_status().json()["id"]
        guest.get("/tokens").raise_for_status()
        guest.delete(f"/tokens/{token_id}").raise_for_status()
        guest.put("/sessions/short-lived", json={}).raise_for_status()
    admin.http.delete("/users/guest").raise_for_status()


def _let_sweep_work(user: ApiUser) -> None:
    """A handoff past its deadline, and a turn in the dead-letter queue."""
    service = user.service
    session_id = user.create_session()
    service.simulator.arm("telegram", "rate_limit", seconds=600, on="open_thread")
    handoff_id = user.request_handoff(session_id).json()["id"]
    _wait_for_rate_limit(user, handoff_id)
    service.engine.client("dynamodb").update_item(
        TableName=service.stack.resources["HandoffsTable"],
        Key={"handoff_id": {"S": handoff_id}},
        UpdateExpression="SET deadline = :past, due_at = :past",
        ExpressionAttributeValues={":past": {"N": "1"}},
    )
    service.sweep_now()
    eventually(lambda: user.handoff(handoff_id)["done"], within=PATIENCE)
    user.http.get("/handoffs").raise_for_status()

    for place in (cli_place(session_id), Place("telegram", "-100", "7")):
        row = InboxRow(place, "dead", "owner", "Nobody will answer this", 1, "owner")
        service.store.inbox.put(row)
        service.engine.client("sqs").send_message(
            QueueUrl=service.stack.resources["DeadTurnsQueue"],
            MessageBody=body_of(InboxEvent(row.place, row.event_id)),
            MessageGroupId=place.chat,
            MessageDeduplicationId=place.chat,
        )
        service.sweep_now()
        eventually(
            lambda row=row: (found := service.store.inbox.get(row.place, row.event_id)) and found.done_by,  # type: ignore[misc]  # bound in this round
            within=PATIENCE,
        )


def _lose_runs(user: ApiUser) -> None:
    """Turns whose runs are lost: sent again, taken by an executor that dies, given up, and left behind by a session."""
    title = f"lost {uuid.uuid4().hex[:6]}"
    session_id = user.create_session(title=title)
    assert user.hand_off(session_id)["error"] is None
    store = user.service.store

    _offer(user, session_id, "Sent again", event_id="1")
    user.service.sweep_now()
    _wait_for_words(user, title, "Sent again")

    offer = _offer(user, session_id, "Taken twice", event_id="2")
    now = int(time.time() * 1000)
    rows = store.inbox.new(offer.place, limit=9)
    store.turns.claim(_session(user, session_id), rows, claim_id="dies", now=now, lease_until=now + 2_000)
    user.service.engine.client("sqs").send_message(
        QueueUrl=user.service.stack.outputs["RunsQueueUrl"], MessageBody=run_body_of(Run(session_id, offer.id))
    )
    _wait_for_words(user, title, "Taken twice")

    given_up = _offer(user, session_id, "Given up", event_id="3")
    for nudges in range(NUDGES):
        store.turns.postpone(replace(given_up, nudges=nudges), until=1, nudged_fence=0)
    user.service.sweep_now()
    _wait_for_words(user, title, "did not start")

    left = _offer(user, user.create_session(), "Left behind", event_id="4")
    user.service.engine.client("dynamodb").delete_item(
        TableName=user.service.stack.resources["SessionsTable"],
        Key={"pk": {"S": f"SESSION#{left.session_id}"}, "sk": {"S": "META"}},
    )
    user.service.sweep_now()
    assert store.turns.get(left.session_id, left.id) is None


def _offer(user: ApiUser, session_id: str, text: str, *, event_id: str) -> Offer:
    """Offer a turn that is due for the sweep, without a run."""
    store, session = user.service.store, _session(user, session_id)
    row = InboxRow(session.owner, f"lost-{event_id}", "7001", text, 1, "owner")
    store.inbox.put(row)
    offer = Offer(uuid.uuid4().hex, session_id, "owner", session.owner, session.epoch, 1, (row.event_id,))
    store.turns.offer(session, offer, rows=[row])
    return offer


def _session(user: ApiUser, session_id: str) -> Session:
    session = user.service.store.sessions.get(session_id)
    assert session is not None
    return session


def _lose_a_record(user: ApiUser) -> None:
    """A pending handoff that is incomplete, so that claiming it fails and the stream discards the record."""
    service = user.service
    item = {
        "handoff_id": {"S": "broken"},
        "state": {"S": "pending"},
        "not_before": {"N": "0"},
        "deadline": {"N": "9e12"},
    }
    service.engine.client("dynamodb").put_item(TableName=service.stack.resources["HandoffsTable"], Item=item)
    sqs, url = service.engine.client("sqs"), service.stack.resources["FailedRecordsQueue"]
    eventually(lambda: sqs.receive_message(QueueUrl=url).get("Messages"), within=PATIENCE)


def _wait_for_rate_limit(user: ApiUser, handoff_id: str) -> None:
    eventually(
        lambda: (found := user.service.store.handoffs.get(handoff_id)) and found.not_before > time.time() * 1000,
        within=PATIENCE,
    )


def _wait_for_words(user: ApiUser, title: str, words: str) -> None:
    def said() -> list[Any]:
        (thread,) = user.threads(title)
        return [m for m in thread["messages"] if m["from"] == "bot" and words in m["text"]]

    eventually(said, within=PATIENCE)


def _logical(service: LocalService, resource: str) -> str:
    for logical_id, physical in service.stack.resources.items():
        name = physical.rpartition("/")[2]
        if name in resource:
            return logical_id + resource.partition(name)[2].partition("/stream/")[0]
    return resource


def test_every_grant_is_used(walked: LocalService) -> None:
    assert _unused(walked) == RARE


def test_no_call_was_denied(walked: LocalService) -> None:
    assert _denied(walked) == set()
