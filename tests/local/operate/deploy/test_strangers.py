"""What resembles a stack of Handoff and is another program's: no command touches it."""

from typing import Any

import pytest

from local.operate.deploy import secret_store, template
from local.operate.deploy.aws import Account
from local.operate.deploy.bucket import bucket_name
from local.operate.deploy.left_behind import LeftBehind
from local.operate.deploy.stacks import describe
from local.operate.deploy.template import QUEUE, TABLE
from shared.aws.secrets import parameter_of
from tests.local.operate.deploy.conftest import Operator, allowing, role_with
from tests.support.emulated_aws import EmulatedAws
from tests.support.fake_cloudformation import FakeChangeSet, FakeStack

Said = pytest.CaptureFixture[str]
PLANNED, UNPLANNED = "REVIEW_IN_PROGRESS", "REVIEW_IN_PROGRESS without a plan"
STATES = ["CREATE_COMPLETE", PLANNED, UNPLANNED, "ROLLBACK_COMPLETE", "DELETE_FAILED", "DELETE_COMPLETE"]


def make_table(aws: EmulatedAws, name: str) -> str:
    key = {"AttributeName": "pk", "KeyType": "HASH"}
    attribute = {"AttributeName": "pk", "AttributeType": "S"}
    aws.client("dynamodb").create_table(
        TableName=name, KeySchema=[key], AttributeDefinitions=[attribute], BillingMode="PAY_PER_REQUEST"
    )
    return name


def stranger(aws: EmulatedAws, status: str) -> FakeStack:
    """A stack with the name, the outputs, the tags and the prefix of ours, and tables and queues that carry its id."""
    table = make_table(aws, "handoff-SessionsTable-THEIRS")
    queue = aws.client("sqs").create_queue(QueueName="handoff-TurnsQueue-THEIRS")["QueueUrl"]
    document = template.load()
    resources = {
        "SessionsTable": {"Type": TABLE, "DeletionPolicy": "Retain", "Properties": {}},
        "TurnsQueue": {"Type": QUEUE, "DeletionPolicy": "Retain", "Properties": {}},
    }
    stack = FakeStack(
        "handoff",
        f"arn:aws:cloudformation:us-east-1:{aws.formation.account}:stack/handoff/theirs",
        status.partition(" ")[0],
        {"Resources": resources, "Parameters": {}, "Outputs": {}, "Metadata": {"Handoff": {"Mark": "theirs"}}},
        parameters={"SecretsPrefix": "/handoff"},
        outputs={
            "SessionsTableName": table,
            "HandoffsTableName": table,
            "SecretsPrefix": "/handoff",
            "ApiUrl": "https://x",
        },
        tags={"application": "handoff"},
        physical={"SessionsTable": table, "TurnsQueue": queue},
        skipped=set(resources),
    )
    aws.formation.stacks[stack.id] = stack
    if status == PLANNED:
        plan = FakeChangeSet(f"{stack.id}/plan", "theirs", stack, document | {"Metadata": {}}, {}, stack.tags, [])
        aws.formation.change_sets[plan.id] = plan
    for kind, physical in ((TABLE, table), (QUEUE, queue)):
        aws.tag(kind, physical, {"application": "handoff", "handoff:stack-id": stack.id})
    ssm, s3 = aws.client("ssm"), aws.client("s3")
    tags = [{"Key": "application", "Value": "handoff"}]
    ssm.put_parameter(Name="/handoff/database/password", Value="x", Type="SecureString", Tags=tags)
    ssm.put_parameter(Name="/handoff-agent/notes", Value="x", Type="String")
    bucket = bucket_name(aws.formation.account, "us-east-1")
    s3.create_bucket(Bucket=bucket)
    for key in ("handoff/notes.txt", f"handoff/{'0' * 64}.zip"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"theirs")
    return stack


def everything(aws: EmulatedAws) -> dict[str, Any]:
    s3 = aws.client("s3")
    buckets = [one["Name"] for one in s3.list_buckets()["Buckets"]]
    parameters = aws.client("ssm").get_paginator("describe_parameters").paginate()
    return {
        "stacks": {stack.id: stack.status for stack in aws.formation.stacks.values()},
        "plans": set(aws.formation.change_sets),
        "tables": aws.client("dynamodb").list_tables()["TableNames"],
        "queues": aws.client("sqs").list_queues().get("QueueUrls", []),
        "secrets": sorted(one["Name"] for page in parameters for one in page["Parameters"]),
        "objects": {
            name: [one["Key"] for one in s3.list_objects_v2(Bucket=name).get("Contents", ())] for name in buckets
        },
    }


@pytest.mark.parametrize("status", STATES)
def test_a_stack_of_another_program_is_never_touched(
    operator: Operator, aws: EmulatedAws, capsys: Said, status: str
) -> None:
    stranger(aws, status)
    before = everything(aws)
    for arguments in (["--yes"], ["--yes", "--delete-data"]):
        assert operator.run("destroy", *arguments) == 1
        assert everything(aws) == before
    said = capsys.readouterr()
    expected = {"DELETE_COMPLETE": "nothing that one has left", UNPLANNED: "nothing shows whose it is"}
    assert expected.get(status, "is not one of Handoff") in said.err
    assert "DeleteStack" not in aws.formation.asked
    assert operator.deploy() == 1, "nor does a deploy change it, or use the bucket"
    assert everything(aws) == before


def test_what_is_not_handoffs_stays_beside_its_stack(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    operator.deploy()
    stack, bucket = aws.formation.live("handoff"), bucket_name(aws.formation.account, "us-east-1")
    restored, theirs = stack.physical["SessionsTable"], stack.physical["RunsQueue"]
    aws.tag(TABLE, restored, {"handoff:stack-id": "arn:aws:cloudformation:us-east-1:1:stack/restored/7"})
    aws.tag(QUEUE, theirs, {"handoff:stack-id": "arn:aws:cloudformation:us-east-1:1:stack/restored/7"})
    ssm = aws.client("ssm")
    for name in ("/handoff/telegram/bot_token", "/handoff/database/password", "/handoff-agent/key"):
        ssm.put_parameter(Name=name, Value="x", Type="SecureString")
    aws.client("s3").put_object(Bucket=bucket, Key="handoff/notes.txt", Body=b"x")
    capsys.readouterr()

    assert operator.run("destroy", "--yes", "--delete-data") == 0

    left = everything(aws)
    assert (left["tables"], left["queues"]) == ([restored], [theirs])
    assert left["secrets"] == ["/handoff/database/password"]
    assert left["objects"] == {bucket: ["handoff/notes.txt"]}
    said = capsys.readouterr().out
    for name in (restored, theirs, "/handoff/database/password", "handoff/notes.txt"):
        assert name in said
    for command, name in (("delete-table --table-name", restored), ("delete-queue --queue-url", theirs)):
        assert f"{command} {name}" in said


def test_a_mark_is_looked_at_again_before_each_delete(operator: Operator, aws: EmulatedAws) -> None:
    operator.deploy()
    account, stack = Account.of(profile=None, region=None), aws.formation.live("handoff")
    behind = LeftBehind(account, "handoff")
    left = behind.by(describe(account.cloudformation, "handoff") or pytest.fail("it is there"))
    table, queue = stack.physical["SessionsTable"], stack.physical["RunsQueue"]
    for kind, physical in ((TABLE, table), (QUEUE, queue)):
        aws.tag(kind, physical, {"handoff:stack-id": "arn:aws:cloudformation:us-east-1:1:stack/restored/7"})

    failed = behind.delete(left)

    assert sorted(failed) == sorted(f"{name} (it does not carry the mark any more)" for name in (table, queue))
    remaining = everything(aws)
    assert (remaining["tables"], remaining["queues"]) == ([table], [queue])


def test_of_thirty_secrets_none_is_left(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    operator.deploy()
    ssm = aws.client("ssm")
    for name in secret_store.known_names():
        ssm.put_parameter(Name=parameter_of("/handoff", name), Value="x", Type="SecureString")
    for number in range(30 - len(secret_store.known_names())):
        # A platform that was installed when its secret was stored.
        secret_store.put(ssm, "/handoff", f"other/secret-{number}", "x", stack="handoff")
    assert len(everything(aws)["secrets"]) == 30
    assert operator.run("destroy", "--yes", "--delete-data") == 0
    assert everything(aws)["secrets"] == []
    assert operator.run("destroy", "--yes", "--delete-data") == 1
    assert "nothing that one has left" in capsys.readouterr().err


def test_what_could_not_be_deleted_is_named_and_found_again(
    operator: Operator, aws: EmulatedAws, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator.deploy()
    secret_store.put(aws.client("ssm"), "/handoff", "telegram/bot_token", "x", stack="handoff")
    usual = ("sts:*", "s3:*", "dynamodb:*", "sqs:*", "ssm:GetParametersByPath", "ssm:ListTagsForResource")
    with monkeypatch.context() as limited:
        role_with(aws, limited, allowing(*usual))
        assert operator.run("destroy", "--yes", "--delete-data") == 1
    said = capsys.readouterr().err
    assert "1 could not be deleted: /handoff/telegram/bot_token" in said
    assert "not authorized to perform: ssm:DeleteParameter" in said
    assert everything(aws)["tables"] == []
    assert operator.run("destroy", "--yes", "--delete-data") == 0
    assert everything(aws)["secrets"] == []


def test_secrets_stored_before_the_stack_was_made_are_found(operator: Operator, aws: EmulatedAws) -> None:
    ssm = aws.client("ssm")
    secret_store.put(ssm, "/handoff", "telegram/bot_token", "x", stack="handoff")
    ssm.put_parameter(Name="/handoff/slack/bot_token", Value="x", Type="SecureString")  # by another program
    assert operator.run("destroy", "--yes", "--delete-data") == 0
    assert everything(aws)["secrets"] == ["/handoff/slack/bot_token"]


def test_a_stack_of_an_earlier_version_is_marked_before_it_can_go(
    operator: Operator, aws: EmulatedAws, capsys: Said
) -> None:
    operator.deploy()
    bucket = bucket_name(aws.formation.account, "us-east-1")
    del aws.formation.live("handoff").template["Metadata"]
    aws.client("s3").delete_bucket_tagging(Bucket=bucket)
    before = everything(aws)
    for arguments in (["--yes"], ["--yes", "--delete-data"]):
        assert operator.run("destroy", *arguments) == 1
        assert "Deploy once, which adds it, then repeat the command: handoff deploy --stack handoff" in (
            capsys.readouterr().err
        )
    assert everything(aws) == before
    operator.code("second")
    assert operator.deploy() == 0
    assert operator.run("destroy", "--yes", "--delete-data") == 0
    left = everything(aws)
    assert (left["tables"], left["queues"], left["objects"]) == ([], [], {})


def test_data_of_an_earlier_stack_of_the_name_is_named(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    operator.deploy()
    operator.run("destroy", "--yes")
    (earlier,) = aws.formation.stacks.values()
    kept = make_table(aws, "handoff-SessionsTable-EARLIER")
    earlier.physical = {**earlier.physical, "SessionsTable": kept}
    aws.tag(TABLE, kept, {"handoff:stack-id": earlier.id})
    operator.deploy()
    capsys.readouterr()
    assert operator.run("destroy", "--yes", "--delete-data") == 0
    assert operator.result["kept"] == [kept]
    assert f"  {kept}\nDelete it with: handoff destroy --stack handoff --delete-data" in capsys.readouterr().out
    assert operator.run("destroy", "--yes", "--delete-data") == 0
    assert everything(aws)["tables"] == []
