"""`handoff doctor --stack`: what a deploy can leave, and the one command that mends it."""

import pytest

from tests.local.operate.deploy.conftest import Operator
from tests.support.emulated_aws import EmulatedAws
from tests.support.fake_cloudformation import FakeStack


def checks(operator: Operator, *arguments: str) -> dict[str, tuple[bool | None, str]]:
    assert operator.run("check", "--version=1.0", *arguments) == 0
    return {one["name"]: (one["ok"], one.get("fix", "")) for one in operator.result["checks"]}


def test_a_fresh_deployment_is_healthy(operator: Operator) -> None:
    operator.deploy()
    assert checks(operator) == {"stack": (True, ""), "version": (True, ""), "users": (True, "")}


def test_nothing_is_written(operator: Operator, aws: EmulatedAws) -> None:
    assert checks(operator) == {"stack": (False, "handoff deploy --stack handoff")}
    assert set(aws.formation.asked) == {"DescribeStacks"}


def test_what_is_missing_has_its_command(operator: Operator) -> None:
    operator.deploy("--no-token", "--set=Agent=openai", "--stack=team")
    found = checks(operator, "--stack=team")
    assert found["users"] == (False, "handoff deploy --stack team")
    assert found["agent key"] == (False, "handoff deploy --stack team --secret agent/key")


def test_another_version_is_only_mentioned(operator: Operator) -> None:
    operator.deploy("--version=0.9")
    assert checks(operator)["version"] == (None, "handoff deploy --stack handoff")


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
    aws.formation.stacks["x"] = FakeStack("handoff", "arn:x:stack/handoff/1", status, tags={"application": "handoff"})
    assert checks(operator)["stack"] == (ok, fix)
