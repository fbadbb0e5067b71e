"""The policy that `handoff deploy --policy` prints is enough for every documented command, and the first error is shown."""

import io
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import pytest

from local.chats.simulator import Simulator
from local.cloud.moto_patches.policies import covers
from local.operate import admin, data, set_up
from tests.local.operate.deploy.conftest import Operator, allowing, role_with
from tests.support.emulated_aws import EmulatedAws
from tests.support.fake_cloudformation import error
from tests.support.servers import Response

Said = pytest.CaptureFixture[str]
FREE = {"sts:GetCallerIdentity"}
"""Actions that need no right."""
S3 = {
    "DeleteObjects": "DeleteObject",
    "GetBucketEncryption": "GetEncryptionConfiguration",
    "GetBucketLifecycleConfiguration": "GetLifecycleConfiguration",
    "GetPublicAccessBlock": "GetBucketPublicAccessBlock",
    "HeadBucket": "ListBucket",
    "HeadObject": "GetObject",
    "ListObjects": "ListBucket",
    "ListObjectsV2": "ListBucket",
    "PutBucketEncryption": "PutEncryptionConfiguration",
    "PutPublicAccessBlock": "PutBucketPublicAccessBlock",
}
"""The actions of IAM for those operations of S3 that have another name."""


@pytest.fixture
def telegram(monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulator]:
    with Simulator() as simulator:
        monkeypatch.setenv("TELEGRAM_API_URL", simulator.api_url("telegram"))
        yield simulator


def walk(operator: Operator, aws: EmulatedAws, telegram: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command of docs/deploy.md and docs/move.md that calls AWS, as far as it goes here."""

    def typed(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{text}\n"))

    typed("")
    assert operator.run("apply", f"--bundle={operator.bundle}") == 2  # the plan is discarded
    for _ in range(2):
        typed("sk-secret")
        assert operator.deploy("--secret=agent/key", "--set=Agent=openai") == 0
    operator.code("second")
    aws.formation.fail_on["WebhookFunction"], aws.formation.fail_rollback = "Broken", True
    assert operator.deploy() == 1
    assert operator.deploy() == 0
    assert operator.run("apply", "--dry-run") == 0
    assert operator.run("check") == 0
    typed(telegram.secrets["telegram/bot_token"])
    assert set_up.main(["telegram", "--stack=handoff"]) == 0
    outputs, file = aws.formation.live("handoff").outputs, str(operator.bundle.with_name("export"))
    names = [f"--sessions-table={outputs['SessionsTableName']}", f"--handoffs-table={outputs['HandoffsTableName']}"]
    names.append(f"--files-bucket={outputs['FilesBucketName']}")
    for command in (
        ["add-user", "anna", "--telegram=77", "--home=telegram=77"],
        ["users"],
        ["tokens", "anna"],
        ["add-token", "anna", "--scope=read"],
        ["unidentify", "anna", "--telegram=77"],
        ["remove-user", "anna", "--yes"],
    ):
        assert admin.main([*names, *command]) == 0
    assert data.main(["export", file, "--stack=handoff"]) == 0
    assert data.main(["import", file, "--stack=handoff", "--yes"]) == 0
    assert operator.run("destroy", "--yes") == 0
    assert operator.run("destroy", "--yes", "--delete-data") == 0


def asked_of_cloudformation(aws: EmulatedAws) -> Iterator[tuple[str, str]]:
    """Each action with the resource for which IAM asks: the stack if it is named, else the change set, else all."""
    place = f"arn:aws:cloudformation:us-east-1:{aws.formation.account}"
    for body in aws.formation.said:
        form = dict(parse_qsl(body))
        stack = form.get("StackName", "")
        named = stack if stack.startswith("arn:") else f"{place}:stack/{stack}/id"
        yield f"cloudformation:{form['Action']}", named if stack else form.get("ChangeSetName", "*")


def test_the_policy_covers_every_documented_command(
    operator: Operator,
    aws: EmulatedAws,
    telegram: Simulator,
    capsys: Said,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert operator.run("apply", "--policy") == 0
    policy = json.loads(capsys.readouterr().out)
    role_with(aws, monkeypatch, allowing("*"))

    walk(operator, aws, telegram, monkeypatch)

    called = {(grant.action, grant.resource) for grant in aws.cloud.engine.access.used}
    called |= set(asked_of_cloudformation(aws))
    services = {action.partition(":")[0] for action, _ in called}
    assert services == {"sts", "s3", "dynamodb", "sqs", "ssm", "cloudformation"}
    assert {"dynamodb:Scan", "ssm:DeleteParameter"} <= {action for action, _ in called}
    denied = {(action, resource) for action, resource in called if not allows(policy, action, resource)}
    assert denied == set()


def allows(policy: dict[str, Any], action: str, resource: str) -> bool:
    service, _, name = action.partition(":")
    wanted = f"s3:{S3.get(name, name)}" if service == "s3" else action
    # moto does not tell the resource of some calls: then only the action is compared.
    return action in FREE or any(
        covers(one | ({"Resource": "*"} if resource == "*" and service != "cloudformation" else {}), wanted, resource)
        for one in policy["Statement"]
    )


@pytest.mark.parametrize("action", ["DescribeChangeSet", "ExecuteChangeSet"])
def test_the_first_error_is_shown_not_that_of_the_clean_up(
    operator: Operator, aws: EmulatedAws, capsys: Said, action: str
) -> None:
    def fault(asked: str) -> Response | None:
        if asked == action:
            return error("AccessDenied", "the first reason", 403)
        return error("AccessDenied", "of the clean-up", 403) if asked == "DeleteChangeSet" else None

    aws.formation.faults = [fault]
    assert operator.deploy() == 1
    said = capsys.readouterr().err
    assert f"AWS denies {action} (the first reason)" in said
    assert "clean-up" not in said


def test_a_refused_plan_says_why_even_if_it_cannot_be_discarded(
    operator: Operator, aws: EmulatedAws, capsys: Said
) -> None:
    aws.formation.faults = [lambda asked: error("AccessDenied", "x", 403) if asked == "DeleteChangeSet" else None]
    assert operator.run("apply", f"--bundle={operator.bundle}") == 2
    assert "repeat the command with --yes" in capsys.readouterr().err
    aws.formation.faults = []
    assert operator.run("destroy", "--yes") == 0, "the plan shows whose the empty stack is"
    assert [stack.status for stack in aws.formation.stacks.values()] == ["DELETE_COMPLETE"]
