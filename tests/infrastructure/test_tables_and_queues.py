"""Tables and queues as they come out of a deploy."""

import json
from typing import Any

import pytest

from local.cloud.engine import Engine
from local.cloud.stack import Stack


def _described(cloud: Engine, stack: Stack, table: str) -> Any:
    return cloud.client("dynamodb").describe_table(TableName=stack.resources[table])["Table"]


@pytest.mark.parametrize("table", ["HandoffsTable", "SessionsTable"])
def test_tables_expire_items_and_can_be_restored(cloud: Engine, stack: Stack, table: str) -> None:
    client, name = cloud.client("dynamodb"), stack.resources[table]
    ttl = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    assert ttl == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires_at"}
    backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    assert _described(cloud, stack, table)["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


def test_only_handoffs_have_a_stream(cloud: Engine, stack: Stack) -> None:
    stream = _described(cloud, stack, "HandoffsTable")["StreamSpecification"]
    assert stream == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert "StreamSpecification" not in _described(cloud, stack, "SessionsTable")


def test_what_holds_data_is_encrypted_and_outlives_the_stack(resources: dict[str, Any]) -> None:
    encrypted = {
        "AWS::DynamoDB::Table": lambda properties: properties["SSESpecification"]["SSEEnabled"],
        "AWS::SQS::Queue": lambda properties: properties["SqsManagedSseEnabled"],
    }
    found = {name: resource for name, resource in resources.items() if resource["Type"] in encrypted}
    assert len(found) == 7
    for resource in found.values():
        assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == "Retain"
        assert encrypted[resource["Type"]](resource["Properties"]) is True


def _attributes(cloud: Engine, stack: Stack, queue: str) -> dict[str, str]:
    client, url = cloud.client("sqs"), stack.resources[queue]
    attributes: dict[str, str] = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return attributes


def test_what_outlives_the_stack_says_whose_it_is(resources: dict[str, Any]) -> None:
    kept = {name: one for name, one in resources.items() if one.get("DeletionPolicy") == "Retain"}
    assert {one["Type"] for one in kept.values()} == {
        "AWS::DynamoDB::Table",
        "AWS::S3::Bucket",
        "AWS::S3::BucketPolicy",
        "AWS::SQS::Queue",
    }
    mark = {"Key": "handoff:stack-id", "Value": {"Ref": "AWS::StackId"}}
    unmarked = [name for name, one in kept.items() if mark not in one["Properties"].get("Tags", ())]
    assert unmarked == ["FilesBucketPolicy"]  # a policy has no tags, and goes with its bucket


def test_turns_wait_in_order_and_die_late(cloud: Engine, stack: Stack) -> None:
    turns, dead = _attributes(cloud, stack, "TurnsQueue"), _attributes(cloud, stack, "DeadTurnsQueue")
    assert turns["FifoQueue"] == dead["FifoQueue"] == "true"
    assert turns["ContentBasedDeduplication"] == "false"
    assert json.loads(turns["RedrivePolicy"])["maxReceiveCount"] >= 100


def test_runs_wait_in_no_order_and_die_early(cloud: Engine, stack: Stack) -> None:
    runs, dead = _attributes(cloud, stack, "RunsQueue"), _attributes(cloud, stack, "DeadRunsQueue")
    assert "FifoQueue" not in runs.keys() | dead.keys()
    assert json.loads(runs["RedrivePolicy"])["maxReceiveCount"] <= 10


@pytest.mark.parametrize(("name", "function"), [("Turns", "TurnFunction"), ("Runs", "AgentFunction")])
def test_a_queue_hides_messages_while_its_function_may_run(
    cloud: Engine, stack: Stack, name: str, function: str
) -> None:
    queue, dead = _attributes(cloud, stack, f"{name}Queue"), _attributes(cloud, stack, f"Dead{name}Queue")
    limit = stack.functions[function].timeout
    assert limit <= float(queue["VisibilityTimeout"]) <= limit + 60
    assert json.loads(queue["RedrivePolicy"])["deadLetterTargetArn"] == dead["QueueArn"]
    assert int(dead["MessageRetentionPeriod"]) > int(queue["MessageRetentionPeriod"])
