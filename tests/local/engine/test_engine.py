"""The engine itself: its account, its connections, its end, and the moto that it accepts."""

import threading
import time
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from local import shim
from local.engine import Engine


def _create(client: Any, name: str) -> None:
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )


def test_another_moto_is_refused_with_what_to_do() -> None:
    with pytest.raises(shim.UnknownMotoError) as caught:
        shim.refuse_other_versions("5.3.0")
    said = str(caught.value)
    assert shim.MOTO in said
    assert "5.3.0" in said
    assert "tests/local/engine" in said


def test_the_pinned_moto_is_the_mended_one(pytestconfig: pytest.Config) -> None:
    pinned = (pytestconfig.rootpath / "requirements-dev.txt").read_text()
    assert f"=={shim.MOTO}" in next(line for line in pinned.splitlines() if line.startswith("moto"))


def test_two_engines_in_one_process_know_nothing_of_each_other() -> None:
    first, second = Engine.start(), Engine.start()
    try:
        _create(first.client("dynamodb"), "mine")
        assert first.client("dynamodb").list_tables()["TableNames"] == ["mine"]
        assert second.client("dynamodb").list_tables()["TableNames"] == []
        assert first.account_id in first.client("dynamodb").describe_table(TableName="mine")["Table"]["TableArn"]
    finally:
        first.stop()
        second.stop()


def test_a_stopped_engine_answers_nobody_and_forgets_everything() -> None:
    engine = Engine.start()
    client = engine.client("dynamodb")
    _create(client, "gone")
    engine.stop()
    engine.stop()
    with pytest.raises(Exception, match=r"(?i)connect|closed"):
        client.list_tables()
    with pytest.raises(EndpointConnectionError):
        engine.client("dynamodb").list_tables()


def test_stopping_lets_go_of_consumers_that_wait() -> None:
    engine = Engine.start()
    sqs = engine.client("sqs")
    queue = sqs.create_queue(QueueName="quiet")["QueueUrl"]
    started = time.monotonic()
    waiting = threading.Thread(target=lambda: _ignore(lambda: sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=20)))
    waiting.start()
    engine.stop()
    waiting.join(10)
    assert not waiting.is_alive()
    assert time.monotonic() - started < 10


def test_connections_stay_open_between_calls(engine: Engine) -> None:
    client = engine.client("dynamodb")
    before = engine.server.accepted
    for _ in range(5):
        client.list_tables()
    assert engine.server.accepted == before + 1


def test_requests_leave_no_line_in_the_output(engine: Engine, dynamodb: Any, capfd: pytest.CaptureFixture[str]) -> None:
    dynamodb.list_tables()
    with pytest.raises(ClientError):
        dynamodb.describe_table(TableName="absent")
    assert capfd.readouterr() == ("", "")


def test_a_second_client_of_a_service_is_cheap(engine: Engine) -> None:
    engine.client("sqs")
    started = time.perf_counter()
    for _ in range(10):
        engine.client("sqs")
    assert (time.perf_counter() - started) / 10 < 0.1


def _ignore(call: Any) -> None:
    try:
        call()
    except Exception:  # noqa: BLE001 - the engine is being stopped under this very call
        return
