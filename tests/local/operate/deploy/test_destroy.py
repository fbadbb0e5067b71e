"""`handoff destroy`: what goes, what stays, and what a second run finds."""

import pytest

from local.operate.deploy.template import TABLE
from tests.local.operate.deploy.conftest import Operator
from tests.support.emulated_aws import EmulatedAws

Said = pytest.CaptureFixture[str]


def tables(aws: EmulatedAws) -> list[str]:
    return list(aws.client("dynamodb").list_tables()["TableNames"])


def queues(aws: EmulatedAws) -> list[str]:
    return list(aws.client("sqs").list_queues().get("QueueUrls", []))


def file_buckets(aws: EmulatedAws) -> list[str]:
    return [one["Name"] for one in aws.client("s3").list_buckets()["Buckets"] if "-filesbucket-" in one["Name"]]


def secrets(aws: EmulatedAws, *names: str) -> list[str]:
    ssm = aws.client("ssm")
    for name in names:
        ssm.put_parameter(Name=name, Value="x", Type="SecureString")
    return [one["Name"] for one in ssm.describe_parameters()["Parameters"]]


def test_the_data_is_kept(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    operator.deploy()
    assert operator.run("destroy", "--yes") == 0
    assert [stack.status for stack in aws.formation.stacks.values()] == ["DELETE_COMPLETE"]
    assert len(tables(aws)) == 2
    assert set(operator.result["kept"]) == {*tables(aws), *queues(aws), *file_buckets(aws)}
    assert len(file_buckets(aws)) == 1
    assert "--delete-data" in capsys.readouterr().out


def test_with_the_data_nothing_is_left(operator: Operator, aws: EmulatedAws) -> None:
    operator.deploy()
    secrets(aws, "/handoff/telegram/bot_token", "/handoff-agent/key", "/other/telegram/bot_token")
    assert operator.run("destroy", "--yes", "--delete-data") == 0
    assert (tables(aws), queues(aws), secrets(aws)) == ([], [], ["/other/telegram/bot_token"])
    assert aws.client("s3").list_buckets()["Buckets"] == []


def test_data_that_was_kept_is_deleted_later(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    operator.deploy()
    operator.run("destroy", "--yes")
    operator.deploy()
    operator.run("destroy", "--yes")
    assert operator.run("destroy", "--yes", "--delete-data") == 0
    assert (tables(aws), queues(aws)) == ([], [])
    assert operator.run("destroy", "--yes", "--delete-data") == 1
    assert "no stack handoff" in capsys.readouterr().err


def test_what_another_stack_took_over_stays(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    operator.deploy()
    operator.run("destroy", "--yes")
    adopted, *others = tables(aws)
    aws.tag(TABLE, adopted, {"handoff:stack-id": "arn:aws:cloudformation:us-east-1:1:stack/restored/7"})
    capsys.readouterr()
    assert operator.run("destroy", "--yes", "--delete-data") == 0
    assert tables(aws) == [adopted]
    assert others
    assert f"aws dynamodb delete-table --table-name {adopted}" in capsys.readouterr().out


def test_what_a_stack_of_another_program_left_stays(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    operator.deploy()
    operator.run("destroy", "--yes")
    (removed,) = aws.formation.stacks.values()
    del removed.template["Metadata"]
    before = tables(aws), queues(aws)
    assert operator.run("destroy", "--yes", "--delete-data") == 0  # only the code, which is in Handoff's own bucket
    capsys.readouterr()
    assert operator.run("destroy", "--yes", "--delete-data") == 1
    assert (tables(aws), queues(aws)) == before
    said = capsys.readouterr()
    assert "nothing that one has left" in said.err
    assert f"aws dynamodb delete-table --table-name {before[0][0]}" in said.out


@pytest.mark.parametrize("prefix", ["/one", "/one/two", "/one-agent"])
def test_the_data_of_other_stacks_stays(operator: Operator, aws: EmulatedAws, prefix: str) -> None:
    operator.deploy("--stack", "one")
    operator.deploy("--stack", "two", "--set", f"SecretsPrefix={prefix}")
    secrets(aws, "/one/telegram/bot_token")
    assert operator.run("destroy", "--stack", "one", "--yes", "--delete-data") == 0
    assert len(tables(aws)) == 2
    assert all(name.startswith("two-") for name in tables(aws))
    assert secrets(aws) == ["/one/telegram/bot_token"]
    (kept,) = file_buckets(aws)
    assert kept.startswith("two-")


def test_without_an_answer_nothing_is_removed(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    operator.deploy()
    assert operator.run("destroy") == 2
    assert operator.run("destroy", "--delete-data") == 2
    assert "DeleteStack" not in aws.formation.asked
    assert "--yes" in capsys.readouterr().err


def test_a_failed_removal_is_explained_and_repeated(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    operator.deploy()
    aws.formation.fail_on["AlarmTopic"] = aws.formation.fail_on["ApiLogs"] = "In use"
    assert operator.run("destroy", "--yes") == 1
    assert "ApiLogs: In use" in capsys.readouterr().err
    assert operator.run("destroy", "--yes") == 0


def test_a_removal_under_way_is_followed(operator: Operator, aws: EmulatedAws) -> None:
    operator.deploy()
    aws.formation._DeleteStack({"StackName": "handoff"})  # by a run that was stopped with Ctrl-C
    assert operator.run("destroy", "--yes", "--delete-data") == 0
    assert aws.formation.asked.count("DeleteStack") == 0
    assert tables(aws) == []


def test_a_stack_that_is_being_changed_is_left_alone(operator: Operator, aws: EmulatedAws) -> None:
    operator.deploy()
    aws.formation.live("handoff").status = "UPDATE_IN_PROGRESS"
    assert operator.run("destroy", "--yes") == 1
    assert "DeleteStack" not in aws.formation.asked
