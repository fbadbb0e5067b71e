"""Events that are delivered twice take effect once: stream records, queue messages, webhooks."""

import json
import uuid

from tests.shared.platforms.telegram.case import CASE, update
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.waiting import eventually


def test_duplicate_stream_records_open_one_thread(user: ApiUser) -> None:
    thread = ChatThread(user)
    keys = {"handoff_id": {"S": thread.handoff["id"]}}
    record = {"eventName": "INSERT", "dynamodb": {"Keys": keys, "SequenceNumber": "1"}}

    answer = user.service.invoker.invoke("ProcessFunction", {"Records": [record, record]})

    assert answer.payload == {"batchItemFailures": []}
    assert len(user.threads(thread.title)) == 1
    assert len(thread.bot_texts()) == 1
    now = user.handoff(thread.handoff["id"])
    assert {**now, "poll_after_ms": 0} == {**thread.handoff, "poll_after_ms": 0}


def test_a_duplicate_queue_message_confirms_once(user: ApiUser) -> None:
    thread = ChatThread(user)
    body = {"v": 1, "place": thread.route, "handoff_id": thread.handoff["id"]}
    record = {
        "messageId": "m1",
        "receiptHandle": "gone",
        "body": json.dumps(body),
        "attributes": {"ApproximateReceiveCount": "2"},
    }

    answer = user.service.invoker.invoke("TurnFunction", {"Records": [record]})

    assert answer.payload == {"batchItemFailures": []}
    assert len(thread.bot_texts()) == 1
    assert len(thread.contents()) == 6


def test_a_hundred_deliveries_of_a_message_are_one_turn(user: ApiUser) -> None:
    thread = ChatThread(user, CASE.name, CASE.home)
    number = uuid.uuid4().int % 10**8
    event = update(number, "once", message_thread_id=int(thread.id), is_topic_message=True)
    headers = CASE.webhooks[CASE.name].sign(user.service.simulator.secrets, b"", 0)

    statuses = {user.http.post(f"/webhooks/{CASE.name}", json=event, headers=headers).status_code for _ in range(100)}
    thread.say("twice")
    eventually(lambda: thread.is_answered("twice"))

    assert statuses == {200}
    assert thread.contents().count("once") == 1
    assert len(thread.contents()) == 10
