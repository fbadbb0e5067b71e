"""`handoff doctor --stack`: what a deploy can leave, and the one command that mends it."""

import os
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from handoff_cli.arguments import parser
from handoff_cli.main import main as run_cli
from local.operate.deploy import template
from local.operate.deploy.files_bucket import files_check
from local.paths import ROOT
from tests.local.operate.deploy.conftest import Operator
from tests.support.emulated_aws import EmulatedAws
from tests.support.fake_cloudformation import FakeStack


def checks(operator: Operator, *arguments: str) -> dict[str, tuple[bool | None, str]]:
    assert operator.run("check", "--version=1.0", *arguments) == 0
    aws, *found = operator.result["checks"]
    assert (aws["name"], aws["ok"]) == ("aws", True)
    return {one["name"]: (one["ok"], one.get("fix", "")) for one in found}


def test_a_fresh_deployment_is_healthy(operator: Operator) -> None:
    operator.deploy()
    assert checks(operator) == dict.fromkeys(("stack", "version", "files", "users"), (True, ""))


def test_nothing_is_written(operator: Operator, aws: EmulatedAws) -> None:
    assert checks(operator) == {"stack": (False, "handoff deploy --stack handoff")}
    assert set(aws.formation.asked) == {"DescribeStacks"}


def test_what_is_missing_has_its_command(operator: Operator) -> None:
    operator.deploy("--no-token", "--set=Agent=openai", "--stack=team")
    found = checks(operator, "--stack=team")
    assert found["users"] == (False, "handoff deploy --stack team --new-token")
    assert found["agent key"] == (False, "handoff deploy --stack team --secret agent/key")


def test_another_version_is_only_mentioned(operator: Operator) -> None:
    operator.deploy("--version=0.9")
    assert checks(operator)["version"] == (None, "handoff deploy --stack handoff")


def files_finding(operator: Operator) -> dict[str, Any]:
    assert operator.run("check", "--version=1.0") == 0
    return next(one for one in operator.result["checks"] if one["name"] == "files")


@pytest.mark.parametrize(
    ("undo", "said"),
    [
        ("delete_public_access_block", "public access is not blocked"),
        ("delete_bucket_encryption", "it is not encrypted with AES256"),
        ("delete_bucket_lifecycle", "its lifecycle does not delete files after 31 days"),
        ("delete_bucket_policy", "it answers without TLS"),
    ],
)
def test_a_bucket_for_files_that_was_changed_is_found(
    operator: Operator, aws: EmulatedAws, undo: str, said: str
) -> None:
    operator.deploy()
    bucket = aws.formation.live("handoff").outputs["FilesBucketName"]
    getattr(aws.client("s3"), undo)(Bucket=bucket)
    found = files_finding(operator)
    assert (found["ok"], found["detail"]) == (False, f"{bucket}: {said}")
    assert bucket in found["fix"]


def test_files_that_go_too_early_are_found(operator: Operator, aws: EmulatedAws) -> None:
    operator.deploy("--set=FileDays=90")
    assert files_finding(operator)["ok"]
    bucket = aws.formation.live("handoff").outputs["FilesBucketName"]
    rules = [{"ID": "mine", "Status": "Enabled", "Prefix": "", "Expiration": {"Days": 7}}]
    aws.client("s3").put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": rules})
    assert files_finding(operator)["detail"] == f"{bucket}: its lifecycle does not delete files after 91 days"


def test_a_bucket_for_files_that_is_gone_is_found(operator: Operator, aws: EmulatedAws) -> None:
    operator.deploy()
    bucket = aws.formation.live("handoff").outputs["FilesBucketName"]
    aws.client("s3").delete_bucket(Bucket=bucket)
    found = files_finding(operator)
    assert (found["ok"], found["detail"]) == (False, f"{bucket} does not exist, so no file is kept, read or sent")
    assert f"make a private bucket {bucket}" in found["fix"]


def test_settings_that_may_not_be_read_are_no_failure() -> None:
    def refuse(**_: str) -> None:
        raise ClientError({"Error": {"Code": "403"}}, "HeadBucket")

    account: Any = SimpleNamespace(number="1", region="us-east-1", s3=SimpleNamespace(head_bucket=refuse))
    found = files_check(account, "its-bucket", {})
    assert (found["ok"], found["fix"]) == (None, "handoff deploy --policy")


@pytest.mark.parametrize(
    ("status", "ok", "fix"),
    [
        ("UPDATE_COMPLETE", True, ""),
        ("UPDATE_ROLLBACK_COMPLETE", None, "handoff deploy --stack handoff"),
        ("UPDATE_ROLLBACK_FAILED", False, "handoff deploy --stack handoff"),
        ("UPDATE_IN_PROGRESS", None, "handoff deploy --stack handoff"),
        ("ROLLBACK_COMPLETE", False, "handoff deploy --stack handoff"),
        ("REVIEW_IN_PROGRESS", False, "handoff deploy --stack handoff"),
        ("DELETE_FAILED", False, "handoff destroy --stack handoff"),
    ],
)
def test_every_state_of_a_stack_has_its_command(
    operator: Operator, aws: EmulatedAws, status: str, ok: bool | None, fix: str
) -> None:
    aws.formation.stacks["x"] = FakeStack("handoff", "arn:x:stack/handoff/1", status, template.load())
    assert checks(operator)["stack"] == (ok, fix)


def test_the_region_that_was_named_is_in_every_command(operator: Operator) -> None:
    place = "--stack team --region us-east-1"
    assert checks(operator, "--stack=team", "--region=us-east-1") == {"stack": (False, f"handoff deploy {place}")}


def test_only_commands_of_this_cli_are_named(
    operator: Operator, aws: EmulatedAws, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The AWS CLI is not needed for a deployment, so nothing names it."""
    operator.deploy("--no-token", "--set=Agent=openai", "--version=0.9")
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "cli"), **aws.environment(tmp_path)}
    without = {name: value for name, value in environ.items() if name != "AWS_DEFAULT_REGION"}
    capfd.readouterr()
    for variables in (without, environ):
        assert run_cli(["doctor", "--stack", "handoff"], environ=variables, directory=str(tmp_path)) != 0
    said = capfd.readouterr().out
    assert "✗ aws: No region is set: add --region" in said
    named = re.findall(r"^    (?:fix|see): (.*)$", said, re.MULTILINE)
    assert len(named) >= 3
    for command in named:
        program, *arguments = shlex.split(command)
        assert program == "handoff"
        assert parser("handoff").parse_args(arguments).command in ("deploy", "destroy")
