"""Records and messages that kill every function that takes them: given up after the retries, and reported."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from local.service import LocalService
from shared.use_cases.access import id_for
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.kill_cases import WAIT_SECONDS
from tests.support.kill_points import KillPoints, Plan
from tests.support.sweeping import sweeping
from tests.support.waiting import eventually

RECEIVES = 3
APOLOGY = "could not answer your last message"


@pytest.fixture(scope="module")
def kill_points() -> KillPoints:
    return KillPoints()


@pytest.fixture(scope="module")
def service(kill_points: KillPoints) -> Iterator[LocalService]:
    """The queue gives up after a few receives instead of a hundred."""
    parameters = {"LeaseSeconds": "2", "TurnLeaseSeconds": "1"}
    with LocalService(mode="in_process", parameters=parameters, interceptors=kill_points.interceptors) as running:
        sqs, url = running.engine.client("sqs"), running.stack.outputs["TurnsQueueUrl"]
        given = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"])["Attributes"]["RedrivePolicy"]
        redrive = {**json.loads(given), "maxReceiveCount": RECEIVES}
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": json.dumps(redrive)})
        yield running


def failed_records(service: LocalService) -> list[dict[str, Any]]:
    answer = service.engine.client("sqs").receive_message(QueueUrl=service.stack.outputs["FailedRecordsQueueUrl"])
    return [json.loads(message["Body"]) for message in answer.get("Messages", [])]


def make_due(service: LocalService, handoff_id: str) -> None:
    """Make the handoff due for the sweep. The write is a new stream record of the handoff."""
    service.engine.client("dynamodb").update_item(
        TableName=service.stack.resources["HandoffsTable"],
        Key={"handoff_id": {"S": handoff_id}},
        UpdateExpression="SET due_at = :now",
        ExpressionAttributeValues={":now": {"N": "1"}},
    )


def test_a_poison_record_blocks_no_other_and_is_recovered(
    service: LocalService, user: ApiUser, kill_points: KillPoints
) -> None:
    poison = id_for("owner", key := uuid.uuid4().hex)
    kill_points.plan(poison, Plan("ProcessFunction", at=0, run=None))
    session_id = user.create_session()
    assert user.request_handoff(session_id, key=key).json()["id"] == poison

    others = [user.hand_off(user.create_session())["state"] for _ in range(3)]
    (failure,) = eventually(lambda: failed_records(service), within=WAIT_SECONDS)

    assert others == ["completed"] * 3
    assert failure["requestContext"]["condition"] == "RetryAttemptsExhausted"
    (mapping,) = service.stack.streams
    assert failure["requestContext"]["approximateInvokeCount"] == mapping.max_retries + 1
    assert failure["DDBStreamBatchInfo"]["batchSize"] == 1
    assert session_id not in json.dumps(failure)
    assert user.handoff(poison)["state"] == "pending"

    make_due(service, poison)
    eventually(lambda: failed_records(service), within=WAIT_SECONDS)
    kill_points.clear(poison)
    service.sweep_now()
    assert user.wait_for_handoff(poison, within=WAIT_SECONDS)["state"] == "completed"


def test_a_dead_kickoff_fails_its_handoff(service: LocalService, user: ApiUser, kill_points: KillPoints) -> None:
    poison = id_for("owner", key := uuid.uuid4().hex)
    kill_points.plan(poison, Plan("TurnFunction", at=4, run=None))
    session_id = user.create_session()
    user.request_handoff(session_id, key=key)

    with sweeping(service):
        failed = user.wait_for_handoff(poison, within=WAIT_SECONDS)

    session = user.session(session_id)
    assert (failed["state"], failed["error"]["code"]) == ("failed", "turn_failed")
    assert (session["owner"], session["epoch"], session["active_handoff"]) == ("cli", 2, None)
    assert (session["suspended"], session["message_count"]) == (False, 4)


def test_a_dead_turn_is_reported_and_the_next_is_answered(
    service: LocalService, user: ApiUser, kill_points: KillPoints
) -> None:
    thread = ChatThread(user)
    runs = kill_points.runs[thread.route, "TurnFunction"]
    kill_points.plan(thread.route, Plan("TurnFunction", at=2, run=None))

    thread.say("deadly")
    eventually(lambda: thread.route in kill_points.killed)
    with sweeping(service):
        eventually(lambda: len(runs) >= RECEIVES, within=WAIT_SECONDS)
        kill_points.clear(thread.route)
        thread.wait_for(APOLOGY, within=WAIT_SECONDS)
    thread.say("harmless")
    thread.wait_for("harmless", within=WAIT_SECONDS)

    assert len(thread.replies(APOLOGY)) == 1
    assert "deadly" not in thread.contents()
