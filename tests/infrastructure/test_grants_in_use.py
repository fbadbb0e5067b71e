"""Grants and use match: a walk through the service under enforced roles needs every grant, and no other.

A missing grant stops the walk. An unused one is found at its end.
"""

import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from local.service import LocalService
from shared.aws.queue import body_of
from shared.domain.routes import Place, cli_place
from shared.domain.sessions import TurnLease
from shared.ports.inbox import InboxRow
from shared.ports.queue import TurnMessage
from shared.use_cases.answer_inbox import accepted_turn
from tests.journeys.desk import Desk, until

PATIENCE = 60.0
# What the walk does not come by, because it takes two things at the same moment: ending a handoff whose session has
# moved on meanwhile checks that session, and so does moving in where another session was a moment ago.
RACES = {(name, "dynamodb:ConditionCheckItem", "SessionsTable") for name in ("Request", "Process", "Turn", "Sweep")}
# What Lambda itself needs: it asks for these when the mapping is made, and writes the logs.
BY_LAMBDA = {("Process", "dynamodb:ListStreams", "*"), ("Turn", "sqs:GetQueueAttributes", "TurnsQueue")}


@pytest.fixture(scope="module")
def service() -> Iterator[LocalService]:
    with LocalService(mode="in_process") as running:
        yield running


@pytest.fixture(scope="module")
def unused(service: LocalService) -> set[tuple[str, str, str]]:
    """What no function has needed after the walk: (function, action, resource by its logical id)."""
    desk = Desk(service)
    _look_around(desk)
    _hand_over_and_talk(desk)
    _use_the_terminal(desk)
    _let_sweep_work(desk)
    _map_events(service)
    return {
        (function.logical_id.removesuffix("Function"), grant.action, _logical(service, grant.resource))
        for function in service.stack.functions.values()
        for grant in service.engine.grants_unused(function.role_arn)
        if not grant.action.startswith("logs:")
    }


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
        MessageBody=body_of(TurnMessage(row.place, event_id=row.event_id)),
        MessageGroupId="g",
        MessageDeduplicationId="d",
    )
    service.sweep_now()
    until(lambda: service.store.sessions.get(session_id).turn is None, PATIENCE)


def _map_events(service: LocalService) -> None:
    """What Lambda's mappings do in the names of their functions."""
    (stream,), (queue,) = service.stack.streams, service.stack.queues
    role = service.engine.assume(service.stack.functions[stream.function].role_arn)
    streams = service.engine.client("dynamodbstreams", role)
    shard = streams.describe_stream(StreamArn=stream.stream_arn)["StreamDescription"]["Shards"][0]["ShardId"]
    start = streams.get_shard_iterator(
        StreamArn=stream.stream_arn, ShardId=shard, ShardIteratorType=stream.starting_position
    )
    streams.get_records(ShardIterator=start["ShardIterator"])
    service.engine.client("sqs", role).send_message(QueueUrl=stream.on_failure_queue_url, MessageBody="{}")
    sqs = service.engine.client("sqs", service.engine.assume(service.stack.functions[queue.function].role_arn))
    sqs.receive_message(QueueUrl=queue.queue_url)
    with pytest.raises(sqs.exceptions.ReceiptHandleIsInvalid):
        sqs.delete_message(QueueUrl=queue.queue_url, ReceiptHandle="none")


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


def test_every_grant_is_used(unused: set[tuple[str, str, str]]) -> None:
    assert unused == RACES | BY_LAMBDA


def test_no_call_was_denied(service: LocalService, unused: set[tuple[str, str, str]]) -> None:
    assert unused is not None
    assert service.engine.grants_denied() == set()
