"""Grants and use match: a walk through the service under enforced roles needs every grant, and no other.

Functions call under their roles, and so do the event sources that wake them. A missing grant stops the walk, and its end
says which it was. An unused one is found at the end.
"""

import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from local.cloud.moto_patches.access import Grant
from local.service import LocalService
from shared.domain.routes import Place, cli_place
from shared.domain.sessions import TurnLease
from shared.ports.inbox import InboxRow
from shared.ports.queue import InboxEvent
from shared.ports.queue_text import body_of
from shared.use_cases.access import accepted_turn
from tests.support.desk import Desk, until

PATIENCE = 60.0
# What the walk does not come by, because it takes two things at the same moment: ending a handoff whose session has
# moved on meanwhile checks that session, and so does moving in where another session was a moment ago.
RACES = {(name, "dynamodb:ConditionCheckItem", "SessionsTable") for name in ("Request", "Process", "Turn", "Sweep")}


@pytest.fixture(scope="module")
def service() -> Iterator[LocalService]:
    with LocalService(mode="in_process") as running:
        yield running


Grants = set[tuple[str, str, str]]
"""Each a function, an action, and a resource by its logical id."""


@pytest.fixture(scope="module")
def walked(service: LocalService) -> LocalService:
    """The service after the walk."""
    desk = Desk(service)
    try:
        for part in (_look_around, _hand_over_and_talk, _use_the_terminal, _let_sweep_work, _lose_a_record):
            part(desk)
    except Exception as stopped:
        stopped.add_note(f"Denied so far: {_denied(service)}")
        raise
    return service


def _unused(service: LocalService) -> Grants:
    """What no function has needed. Lambda alone writes logs, and does so elsewhere."""
    roles = [function.role_arn for function in service.stack.functions.values()]
    unused = [grant for role in roles for grant in service.engine.grants_unused(role)]
    return _named(service, (grant for grant in unused if not grant.action.startswith("logs:")))


def _denied(service: LocalService) -> Grants:
    return _named(service, service.engine.grants_denied())


def _named(service: LocalService, grants: Iterable[Grant]) -> Grants:
    names = {function.role_arn: name.removesuffix("Function") for name, function in service.stack.functions.items()}
    return {(names[grant.role], grant.action, _logical(service, grant.resource)) for grant in grants}


def _look_around(desk: Desk) -> None:
    session_id = desk.session()
    for path in ("/platforms", "/sessions", f"/sessions/{session_id}", f"/sessions/{session_id}/messages", "/handoffs"):
        desk.http.get(path).raise_for_status()


def _hand_over_and_talk(desk: Desk) -> None:
    title = f"walk {uuid.uuid4().hex[:6]}"
    done = desk.hand_over(desk.session(title=title))
    assert done["error"] is None
    (thread,) = desk.threads(title)
    say = desk.service.simulator.say
    desk.service.simulator.arm("telegram", "redeliver")
    say("telegram", thread["chat"], "And now?", thread=thread["id"])
    _wait_for_words(desk, title, "And now?")
    say("telegram", thread["chat"], "/resume", thread=thread["id"])
    _wait_for_words(desk, title, "Your sessions")
    say("telegram", "-1002", "Is anybody here?")  # a chat without a session: is a handoff on its way to it?
    place = Place("telegram", thread["chat"], thread["id"])
    desk.service.store.inbox.put(InboxRow(place, "0", "7001", "never answered", 1, "owner"))
    say("telegram", thread["chat"], "/stop", thread=thread["id"])
    _wait_for_words(desk, title, "Stopped")


def _use_the_terminal(desk: Desk) -> None:
    http = desk.http
    http.put("/platforms/telegram/home", json={"chat": "7001"}).raise_for_status()
    session_id = desk.session(title="at the terminal")
    http.put(f"/sessions/{session_id}", json={"title": "renamed"}).raise_for_status()
    turn = {"epoch": 0, "id": "t1", "text": "What next?"}
    http.post(f"/sessions/{session_id}/turns", json=turn).raise_for_status()
    until(lambda: len(desk.transcript(session_id)) == 6, PATIENCE)
    http.post(f"/sessions/{session_id}/resume", json={"epoch": 0, "fork": True}).raise_for_status()
    desk.hand_over(session_id)
    http.post(f"/sessions/{session_id}/resume", json={"epoch": 1}).raise_for_status()
    desk.service.simulator.arm("telegram", "rate_limit", seconds=600, on="open_thread")
    waiting = desk.session()
    handoff_id = desk.request(waiting).json()["id"]
    _wait_for_rate_limit(desk, handoff_id)
    http.delete(f"/handoffs/{handoff_id}").raise_for_status()
    http.delete(f"/sessions/{session_id}").raise_for_status()
    refused = desk.hand_over(desk.session(), target="-1002", require_thread=True)  # a group has no threads
    assert refused["error"] is not None


def _let_sweep_work(desk: Desk) -> None:
    """A handoff that waits for the platform beyond its deadline, and a turn that nobody could do."""
    service = desk.service
    session_id = desk.session()
    service.simulator.arm("telegram", "rate_limit", seconds=600, on="open_thread")
    handoff_id = desk.request(session_id).json()["id"]
    _wait_for_rate_limit(desk, handoff_id)
    service.engine.client("dynamodb").update_item(
        TableName=service.stack.resources["HandoffsTable"],
        Key={"handoff_id": {"S": handoff_id}},
        UpdateExpression="SET deadline = :past, due_at = :past",
        ExpressionAttributeValues={":past": {"N": "1"}},
    )
    service.sweep_now()
    until(lambda: desk.handoff(handoff_id)["done"], PATIENCE)
    desk.http.get("/handoffs").raise_for_status()

    row = InboxRow(cli_place(session_id), "dead", "owner", "Nobody will answer this", 1, "owner")
    session = service.store.sessions.get(session_id)
    lease = TurnLease(accepted_turn(row), int(time.time() * 1000) + 60_000)
    service.store.sessions.replace(session, replace(session, turn=lease))
    service.store.inbox.put(row)
    service.engine.client("sqs").send_message(
        QueueUrl=service.stack.resources["DeadTurnsQueue"],
        MessageBody=body_of(InboxEvent(row.place, row.event_id)),
        MessageGroupId="g",
        MessageDeduplicationId="d",
    )
    service.sweep_now()
    until(lambda: service.store.sessions.get(session_id).turn is None, PATIENCE)


def _lose_a_record(desk: Desk) -> None:
    """A pending handoff that nobody can claim, for it has nowhere to note its steps: the stream gives it up."""
    service = desk.service
    item = {
        "handoff_id": {"S": "broken"},
        "state": {"S": "pending"},
        "not_before": {"N": "0"},
        "deadline": {"N": "9e12"},
    }
    service.engine.client("dynamodb").put_item(TableName=service.stack.resources["HandoffsTable"], Item=item)
    sqs, url = service.engine.client("sqs"), service.stack.resources["FailedRecordsQueue"]
    until(lambda: sqs.receive_message(QueueUrl=url).get("Messages"), PATIENCE)


def _wait_for_rate_limit(desk: Desk, handoff_id: str) -> None:
    until(lambda: desk.service.store.handoffs.get(handoff_id).not_before > time.time() * 1000, PATIENCE)


def _wait_for_words(desk: Desk, title: str, words: str) -> None:
    def said() -> list[Any]:
        (thread,) = desk.threads(title)
        return [m for m in thread["messages"] if m["from"] == "bot" and words in m["text"]]

    until(said, PATIENCE)


def _logical(service: LocalService, resource: str) -> str:
    for logical_id, physical in service.stack.resources.items():
        name = physical.rpartition("/")[2]
        if name in resource:
            return logical_id + resource.partition(name)[2].partition("/stream/")[0]
    return resource


def test_every_grant_is_used(walked: LocalService) -> None:
    assert _unused(walked) == RACES


def test_no_call_was_denied(walked: LocalService) -> None:
    assert _denied(walked) == set()
