"""The engine: its account, its connections, its stop, and the version of moto."""

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from local.cloud import moto_patches
from local.cloud.engine import Engine
from local.paths import ROOT


def _create(client: Any, name: str) -> None:
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )


def test_another_version_of_moto_is_refused(tmp_path: Path) -> None:
    info = tmp_path / "moto-9.9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: moto\nVersion: 9.9.9\n")
    done = subprocess.run(
        [sys.executable, "-c", "import local.cloud.engine"],
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    said = done.stderr.splitlines()[-1]
    for words in (
        "UnknownMotoError",
        moto_patches.MOTO,
        "9.9.9",
        "Nothing was started",
        "make clean",
        "tests/local/cloud",
    ):
        assert words in said


def test_this_moto_is_accepted() -> None:
    moto_patches.refuse_other_versions(moto_patches.MOTO)
    with pytest.raises(moto_patches.UnknownMotoError):
        moto_patches.refuse_other_versions(f"{moto_patches.MOTO}.post1")


def test_the_pinned_moto_is_the_patched_one(pytestconfig: pytest.Config) -> None:
    pinned = (pytestconfig.rootpath / "requirements-dev.txt").read_text()
    assert f"=={moto_patches.MOTO}" in next(line for line in pinned.splitlines() if line.startswith("moto"))


def test_two_engines_are_separate() -> None:
    first, second = Engine.start(), Engine.start()
    try:
        _create(first.client("dynamodb"), "mine")
        assert first.client("dynamodb").list_tables()["TableNames"] == ["mine"]
        assert second.client("dynamodb").list_tables()["TableNames"] == []
        assert first.account_id in first.client("dynamodb").describe_table(TableName="mine")["Table"]["TableArn"]
    finally:
        first.stop()
        second.stop()


def test_a_stopped_engine_does_not_answer() -> None:
    engine = Engine.start()
    client = engine.client("dynamodb")
    _create(client, "gone")
    engine.stop()
    engine.stop()
    with pytest.raises(Exception, match=r"(?i)connect|closed"):
        client.list_tables()
    with pytest.raises(EndpointConnectionError):
        engine.client("dynamodb").list_tables()


def test_stop_ends_long_polls() -> None:
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
    started = time.process_time()
    for _ in range(10):
        engine.client("sqs")
    assert (time.process_time() - started) / 10 < 0.1


def _ignore(call: Any) -> None:
    try:
        call()
    except Exception:  # noqa: BLE001 - the engine is being stopped under this very call
        return
