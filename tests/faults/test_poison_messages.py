"""Records and messages that kill every worker that takes them, on each engine: given up after the retries, and reported."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from local.service import LocalService
from shared.ports.agents import Agent, TurnInput
from shared.ports.tables import Table, Update
from shared.use_cases.access import id_for
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.engines import ENGINES, Faulty, Setting, started
from tests.support.kill_cases import COMMAND_SECONDS, WAIT_SECONDS
from tests.support.kill_points import PROCESS, TURN, KillPoints, Plan
from tests.support.one_machine import OneMachine
from tests.support.service import Service
from tests.support.sweeping import sweeping
from tests.support.waiting import eventually

RECEIVES = 3
DEADLY = "deadly"
APOLOGY = "could not answer your last message"
GIVEN_UP = "I was interrupted 3 times in a row"


class DeadlyAgent:
    """An agent that kills its worker when it is asked a deadly question."""

    def __init__(self, kill_points: KillPoints, agent: Agent) -> None:
        self._kill_points, self._agent = kill_points, agent

    def reply(self, turn: TurnInput) -> str:
        if DEADLY in str(turn.messages[-1]["content"]):
            self._kill_points.die()
        return self._agent.reply(turn)


@pytest.fixture(scope="module", params=ENGINES)
def faulty(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faulty]:
    """The queue repeats soon, and gives up after a few receives instead of a hundred."""
    setting = Setting(turn_lease=1, hidden_turn=2, receives=RECEIVES, agent=DeadlyAgent)
    with started(request.param, lambda: tmp_path_factory.mktemp("poison"), setting) as running:
        yield running


@pytest.fixture(scope="module")
def kill_points(faulty: Faulty) -> KillPoints:
    return faulty.kill_points


@pytest.fixture(scope="module")
def service(faulty: Faulty) -> Service:
    return faulty.service


def failed_records(service: LocalService) -> list[dict[str, Any]]:
    answer = service.engine.client("sqs").receive_message(QueueUrl=service.stack.outputs["FailedRecordsQueueUrl"])
    return [json.loads(message["Body"]) for message in answer.get("Messages", [])]


def check_failed_record(service: Service, handoff: dict[str, Any]) -> None:
    """On AWS the stream retries a record, then gives it up. One process leaves the handoff to the sweep at once."""
    if not isinstance(service, LocalService):
        return
    (failure,) = eventually(lambda: failed_records(service), within=WAIT_SECONDS)
    assert failure["requestContext"]["condition"] == "RetryAttemptsExhausted"
    (mapping,) = service.stack.streams
    assert failure["requestContext"]["approximateInvokeCount"] == mapping.max_retries + 1
    assert failure["DDBStreamBatchInfo"]["batchSize"] == 1
    assert handoff["session_id"] not in json.dumps(failure)


def make_due(service: Service, handoff_id: str) -> None:
    """Make the handoff due for the sweep. The write is a new record of the handoff."""
    key, due = {"handoff_id": handoff_id}, {"due_at": 1}
    if isinstance(service, OneMachine):
        service.engine.tables.update(Update(Table.HANDOFFS, key, [], set=due))
        return
    assert isinstance(service, LocalService)
    service.engine.client("dynamodb").update_item(
        TableName=service.stack.resources["HandoffsTable"],
        Key={"handoff_id": {"S": handoff_id}},
        UpdateExpression="SET due_at = :now",
        ExpressionAttributeValues={":now": {"N": "1"}},
    )
    eventually(lambda: failed_records(service), within=WAIT_SECONDS)


def test_a_poison_record_blocks_no_other_and_is_recovered(
    service: Service, user: ApiUser, kill_points: KillPoints
) -> None:
    poison = id_for("owner", key := uuid.uuid4().hex)
    kill_points.plan(poison, Plan(PROCESS, at=0, run=None))
    session_id = user.create_session()
    assert user.request_handoff(session_id, key=key).json()["id"] == poison

    others = [user.hand_off(user.create_session())["state"] for _ in range(3)]
    eventually(lambda: poison in kill_points.killed)

    assert others == ["completed"] * 3
    check_failed_record(service, user.handoff(poison))
    assert user.handoff(poison)["state"] == "pending"

    make_due(service, poison)
    kill_points.clear(poison)
    service.sweep_now()
    assert user.wait_for_handoff(poison, within=WAIT_SECONDS)["state"] == "completed"


def test_words_that_kill_every_agent_suspend_the_session(user: ApiUser) -> None:
    thread = ChatThread(user)

    thread.say(DEADLY)
    eventually(lambda: thread.session()["turn_running"])
    thread.say("/status")
    thread.wait_for("lives here", within=COMMAND_SECONDS)
    thread.wait_for(GIVEN_UP, within=WAIT_SECONDS)
    thread.say("harmless")
    thread.wait_for("harmless", within=WAIT_SECONDS)

    assert len(thread.replies(GIVEN_UP)) == 1
    assert thread.session()["suspended"]
    assert thread.contents()[6:] == [DEADLY]


def test_a_dead_turn_is_reported_and_the_next_is_answered(
    service: Service, user: ApiUser, kill_points: KillPoints
) -> None:
    thread = ChatThread(user)
    runs = kill_points.runs[thread.route, TURN]
    kill_points.plan(thread.route, Plan(TURN, at=2, run=None))

    thread.say("harmful")
    eventually(lambda: thread.route in kill_points.killed)
    with sweeping(service):
        eventually(lambda: len(runs) >= RECEIVES, within=WAIT_SECONDS)
        kill_points.clear(thread.route)
        thread.wait_for(APOLOGY, within=WAIT_SECONDS)
    thread.say("harmless")
    thread.wait_for("harmless", within=WAIT_SECONDS)

    assert len(thread.replies(APOLOGY)) == 1
    assert "harmful" not in thread.contents()
