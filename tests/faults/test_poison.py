"""Work that kills whoever takes it: given up after its retries, told to whom it concerns, in nobody's way."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from local.service import LocalService
from shared.use_cases.handoffs.request_handoff import id_for
from tests.faults.kill_points import KillPoints, Plan
from tests.support.desk import Desk, until
from tests.support.sweeping import sweeping

PATIENCE = 60.0
RECEIVES = 3


@pytest.fixture(scope="module")
def deaths() -> KillPoints:
    return KillPoints()


@pytest.fixture(scope="module")
def doomed(deaths: KillPoints) -> Iterator[LocalService]:
    """A service whose queue gives up after a few receives instead of a hundred."""
    parameters = {"LeaseSeconds": "2", "TurnLeaseSeconds": "1"}
    with LocalService(mode="in_process", parameters=parameters, interceptors=deaths.between) as running:
        sqs, url = running.engine.client("sqs"), running.stack.outputs["TurnsQueueUrl"]
        given = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"])["Attributes"]["RedrivePolicy"]
        redrive = {**json.loads(given), "maxReceiveCount": RECEIVES}
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": json.dumps(redrive)})
        yield running


@pytest.fixture
def at_desk(doomed: LocalService) -> Desk:
    return Desk(doomed)


def failed_records(service: LocalService) -> list[dict[str, Any]]:
    answer = service.engine.client("sqs").receive_message(QueueUrl=service.stack.outputs["FailedRecordsQueueUrl"])
    return [json.loads(message["Body"]) for message in answer.get("Messages", [])]


def make_due(service: LocalService, handoff_id: str) -> None:
    """Let the time pass after which the sweep looks at a handoff."""
    service.engine.client("dynamodb").update_item(
        TableName=service.stack.resources["HandoffsTable"],
        Key={"handoff_id": {"S": handoff_id}},
        UpdateExpression="SET due_at = :now",
        ExpressionAttributeValues={":now": {"N": "1"}},
    )


def test_a_poison_record_goes_to_the_on_failure_queue_blocks_nobody_and_is_nudged_back_to_life(
    doomed: LocalService, at_desk: Desk, deaths: KillPoints
) -> None:
    poison = id_for("owner", key := uuid.uuid4().hex)
    deaths.plan(poison, Plan("ProcessFunction", at=0, run=None))
    session_id = at_desk.session()
    assert at_desk.request(session_id, key=key).json()["id"] == poison

    others = [at_desk.hand_over(at_desk.session())["state"] for _ in range(3)]
    (failure,) = until(lambda: failed_records(doomed), PATIENCE)

    assert others == ["completed"] * 3
    assert failure["requestContext"]["condition"] == "RetryAttemptsExhausted"
    (mapping,) = doomed.stack.streams
    assert failure["requestContext"]["approximateInvokeCount"] == mapping.max_retries + 1
    assert failure["DDBStreamBatchInfo"]["batchSize"] == 1
    assert session_id not in json.dumps(failure)
    assert at_desk.handoff(poison)["state"] == "pending"

    deaths.forgive(poison)
    make_due(doomed, poison)
    doomed.sweep_now()
    until(lambda: at_desk.handoff(poison)["state"] == "completed", PATIENCE)


def test_a_dead_kickoff_fails_its_handoff_with_the_session_back_in_the_terminal(
    doomed: LocalService, at_desk: Desk, deaths: KillPoints
) -> None:
    poison = id_for("owner", key := uuid.uuid4().hex)
    deaths.plan(poison, Plan("TurnFunction", at=4, run=None))
    session_id = at_desk.session()
    at_desk.request(session_id, key=key)

    with sweeping(doomed):
        until(lambda: at_desk.handoff(poison)["done"], PATIENCE)

    failed, session = at_desk.handoff(poison), at_desk.see(session_id)
    assert (failed["state"], failed["error"]["code"]) == ("failed", "turn_failed")
    assert (session["owner"], session["epoch"], session["active_handoff"]) == ("cli", 2, None)
    assert (session["suspended"], session["message_count"]) == (False, 4)


def test_a_dead_turn_is_told_to_the_person_and_the_next_message_is_answered(
    doomed: LocalService, at_desk: Desk, deaths: KillPoints
) -> None:
    title = f"dead turn {uuid.uuid4().hex[:8]}"
    session_id = at_desk.session(title=title)
    route = at_desk.hand_over(session_id)["session"]["owner"]
    (thread,) = at_desk.threads(title)

    def heard(words: str) -> list[str]:
        (seen,) = at_desk.threads(title)
        return [m["text"] for m in seen["messages"] if m["from"] == "bot" and words in m["text"]]

    deaths.plan(route, Plan("TurnFunction", at=2, run=None))
    doomed.simulator.say("telegram", thread["chat"], "deadly", thread=thread["id"])
    until(lambda: route in deaths.deaths)
    with sweeping(doomed):
        until(lambda: dead_letters_answered(deaths, route), PATIENCE)
        deaths.forgive(route)
        until(lambda: heard("could not answer your last message"), PATIENCE)
    doomed.simulator.say("telegram", thread["chat"], "harmless", thread=thread["id"])
    until(lambda: heard("harmless"), PATIENCE)

    assert len(heard("could not answer your last message")) == 1
    assert "deadly" not in [message["content"] for message in at_desk.transcript(session_id)]


def dead_letters_answered(deaths: KillPoints, route: str) -> bool:
    """After so many deaths the queue has given the message up."""
    return len(deaths.runs[route, "TurnFunction"]) >= RECEIVES
