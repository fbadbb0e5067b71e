"""Whatever is delivered twice is done once: stream records, queue messages."""

import json
import uuid

from tests.support.desk import Desk, until


def test_a_duplicate_stream_record_opens_no_second_thread(desk: Desk) -> None:
    title = f"record {uuid.uuid4().hex[:6]}"
    done = desk.hand_over(desk.session(title=title))
    keys = {"handoff_id": {"S": done["id"]}}
    record = {"eventName": "INSERT", "dynamodb": {"Keys": keys, "SequenceNumber": "1"}}

    answer = desk.service.invoker.invoke("ProcessFunction", {"Records": [record, record]})

    assert answer.payload == {"batchItemFailures": []}
    (thread,) = desk.threads(title)
    assert len(thread["messages"]) == 1
    now = desk.handoff(done["id"])
    assert {**now, "poll_after_ms": 0} == {**done, "poll_after_ms": 0}


def test_a_duplicate_queue_message_confirms_once(desk: Desk) -> None:
    title = f"queue {uuid.uuid4().hex[:6]}"
    session_id = desk.session(title=title)
    done = desk.hand_over(session_id)
    body = {"v": 1, "place": done["session"]["owner"], "handoff_id": done["id"]}
    record = {
        "messageId": "m1",
        "receiptHandle": "gone",
        "body": json.dumps(body),
        "attributes": {"ApproximateReceiveCount": "2"},
    }

    answer = desk.service.invoker.invoke("TurnFunction", {"Records": [record]})

    assert answer.payload == {"batchItemFailures": []}
    (thread,) = desk.threads(title)
    assert len(thread["messages"]) == 1
    assert len(desk.transcript(session_id)) == 6


def test_a_hundred_redeliveries_of_one_message_are_one_turn(desk: Desk) -> None:
    title = f"again {uuid.uuid4().hex[:6]}"
    session_id = desk.session(title=title)
    desk.hand_over(session_id)
    (thread,) = desk.threads(title)
    message_id = uuid.uuid4().int % 10**8
    update = {
        "update_id": message_id,
        "message": {
            "message_id": message_id,
            "date": 1,
            "chat": {"id": 7001, "type": "private", "first_name": "O"},
            "from": {"id": 7001, "is_bot": False, "first_name": "O"},
            "message_thread_id": int(thread["id"]),
            "is_topic_message": True,
            "text": "once",
        },
    }
    secret = desk.service.simulator.secrets["telegram/webhook_secret"]
    headers = {"X-Telegram-Bot-Api-Secret-Token": secret}

    statuses = {desk.http.post("/webhooks/telegram", json=update, headers=headers).status_code for _ in range(100)}

    assert statuses == {200}
    until(lambda: desk.see(session_id)["message_count"] == 8)
    assert [m["content"] for m in desk.transcript(session_id)].count("once") == 1
