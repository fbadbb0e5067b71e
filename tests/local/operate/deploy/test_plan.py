"""`--dry-run`, `--policy` and SnapStart: what is shown and uploaded, compared with the template."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from cfnlint.api import ManualArgs, lint

from local.operate.deploy import cost, rights, template
from local.operate.deploy.plan import Deployed, changes
from local.operate.deploy.snap_start import FUNCTIONS
from local.operate.translate import translated
from tests.local.operate.deploy.conftest import Operator
from tests.support.emulated_aws import EmulatedAws

Said = pytest.CaptureFixture[str]
# Actions that are named otherwise than the operations of the service's API.
OTHER_NAMES = {
    *(f"apigateway:{verb}" for verb in ("GET", "POST", "PUT", "PATCH", "DELETE")),
    *("budgets:ModifyBudget", "budgets:ViewBudget", "dynamodb:ConditionCheckItem", "iam:PassRole"),
    *("s3:ListBucket", "s3:GetBucketPublicAccessBlock", "s3:PutBucketPublicAccessBlock"),
    *("s3:GetEncryptionConfiguration", "s3:PutEncryptionConfiguration"),
    *("s3:GetLifecycleConfiguration", "s3:PutLifecycleConfiguration"),
    *("logs:CreateLogDelivery", "logs:GetLogDelivery", "logs:UpdateLogDelivery", "logs:DeleteLogDelivery"),
    *("logs:ListLogDeliveries", "cloudformation:TagResource", "cloudformation:UntagResource"),
}


def release(*, snap_start: bool) -> dict[str, Any]:
    document = template.load()
    values = template.values_of(document, {})
    return template.for_release(
        document, bucket="some-bucket", key="handoff/abc.zip", version="1", snap_start=snap_start, values=values
    )


def test_the_stored_template_is_the_translation_of_template_yaml() -> None:
    stored = template.PATH.read_text()
    assert stored == translated(), "template.yaml has changed: run `make template`"
    assert stored == translated("eu-central-1"), "the translation depends on the region"


def test_the_plan_of_a_new_stack_is_what_the_template_creates() -> None:
    document = template.load()
    planned = changes(document, {}, None)
    assert {one.resource for one in planned} == set(document["Resources"]) - {
        "AlarmTopic",
        "AlarmSubscription",
        "Budget",
    }
    assert {one.action for one in planned} == {"Add"}
    with_mail = changes(document, {"AlarmEmail": "a@example.org", "MonthlyBudget": "5"}, None)
    assert {one.resource for one in with_mail} == set(document["Resources"])


def test_the_plan_of_an_upgrade_is_what_aws_would_say(operator: Operator, aws: EmulatedAws) -> None:
    operator.deploy()
    operator.run("apply", "--dry-run", "--json", "--set", "AlarmEmail=a@example.org", "--set", "LogRetentionDays=7")
    planned = {(one["action"], one["resource"]) for one in operator.result["changes"]}
    operator.deploy("--set", "AlarmEmail=a@example.org", "--set", "LogRetentionDays=7")
    *_, change_set = aws.formation.change_sets.values()
    assert {(one["Action"], one["LogicalResourceId"]) for one in change_set.changes} <= planned
    assert ("Add", "AlarmTopic") in planned
    assert ("Modify", "ApiLogs") in planned
    # The email is named in a condition only, so alarms are not found here; AWS names them.
    assert {resource for _, resource in planned} <= set(template.load()["Resources"])


def test_a_dry_run_needs_no_credentials_and_changes_nothing(
    operator: Operator, aws: EmulatedAws, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert operator.run("apply", "--dry-run") == 0
    assert {name for name in aws.formation.asked if name not in ("DescribeStacks", "GetTemplate")} == set()
    assert aws.client("s3").list_buckets()["Buckets"] == []
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    capsys.readouterr()
    assert operator.run("apply", "--dry-run") == 0
    said = capsys.readouterr().out
    assert "plan of a new stack" in said
    assert "A month without use: about $6.2" in said
    assert "not checked live" in said


def test_a_removed_resource_is_in_the_plan() -> None:
    document = template.load()
    before = json.loads(json.dumps(document))
    before["Resources"]["OldAlarm"] = {"Type": "AWS::CloudWatch::Alarm", "Properties": {}}
    del before["Resources"]["ApiLogs"]
    planned = {(one.action, one.resource) for one in changes(document, {}, Deployed(before, {}))}
    assert planned == {("Remove", "OldAlarm"), ("Add", "ApiLogs")}


# --- rights


@pytest.fixture(scope="module")
def policy() -> dict[str, Any]:
    kinds = [one["Type"] for one in release(snap_start=True)["Resources"].values()]
    return rights.policy(kinds, stack="handoff", account="123456789012", region="us-east-1", prefix="/handoff")


def statements(policy: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((action, statement) for statement in policy["Statement"] for action in statement["Action"])


def test_every_type_of_the_template_has_its_rights_and_no_other() -> None:
    assert {one["Type"] for one in release(snap_start=True)["Resources"].values()} == set(rights.BY_TYPE)


def test_the_policy_allows_no_wildcard_action_and_names_the_stack(policy: dict[str, Any]) -> None:
    for action, statement in statements(policy):
        assert "*" not in action
        for resource in statement["Resource"]:
            assert "{" not in resource
            is_narrow = "handoff" in resource or "/apis" in resource or "Condition" in statement
            assert is_narrow or action.split(":")[0] in ("logs", "lambda", "cloudformation", "apigateway", "budgets"), (
                action
            )
    assert len(json.dumps(policy, separators=(",", ":"))) < 10_240  # the limit of a role's own policies


def test_the_usual_policy_fits_a_managed_one(operator: Operator, capsys: Said) -> None:
    assert operator.run("apply", "--policy") == 0
    usual = json.loads(capsys.readouterr().out)
    assert len(json.dumps(usual, separators=(",", ":"))) < 6144
    assert not [action for action, _ in statements(usual) if action.startswith(("sns:", "budgets:"))]
    operator.run("apply", "--policy", "--set=AlarmEmail=a@example.org")
    assert "sns:Subscribe" in capsys.readouterr().out


def test_only_a_role_of_the_stack_can_be_passed_and_only_to_its_services(policy: dict[str, Any]) -> None:
    ((_, passing),) = [one for one in statements(policy) if one[0] == "iam:PassRole"]
    assert passing["Resource"] == ["arn:aws:iam::123456789012:role/handoff-*"]
    assert set(passing["Condition"]["StringEquals"]["iam:PassedToService"]) == {
        "lambda.amazonaws.com",
        "scheduler.amazonaws.com",
    }


def test_every_action_exists(policy: dict[str, Any]) -> None:
    session = boto3.session.Session()
    known: dict[str, set[str]] = {}
    for action, _ in statements(policy):
        service, _, name = action.partition(":")
        if action in OTHER_NAMES:
            continue
        if service not in known:
            client = session.client(service, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
            known[service] = set(client.meta.service_model.operation_names)
        assert name in known[service], action


def test_what_the_command_calls_is_allowed(operator: Operator, aws: EmulatedAws, policy: dict[str, Any]) -> None:
    operator.deploy()
    operator.code("second")
    operator.deploy()
    operator.run("destroy", "--yes", "--delete-data")
    allowed = {action for action, _ in statements(policy)}
    assert {f"cloudformation:{action}" for action in aws.formation.asked} <= allowed


# --- costs


def test_the_cost_follows_the_template() -> None:
    document = template.load()
    month = sum(item.amount for item in cost.idle(template.created(document, {}), snap_start=False))
    snapped = sum(item.amount for item in cost.idle(template.created(document, {}), snap_start=True))
    used = sum(item.amount for item in cost.thousand_handoffs())
    assert month == pytest.approx(6.25, abs=0.05)
    assert snapped - month == pytest.approx(23.4, abs=0.1)
    assert used == pytest.approx(0.07, abs=0.01)


# --- SnapStart


def test_with_snap_start_every_event_goes_to_a_published_version() -> None:
    resources = release(snap_start=True)["Resources"]
    for name, one in resources.items():
        if one["Type"] in ("AWS::Lambda::Permission", "AWS::Lambda::EventSourceMapping"):
            function = one["Properties"]["FunctionName"]["Ref"]
            assert function.endswith("Alias") or function == "SweepFunction", name
    body = json.dumps(resources["Api"])
    assert "Function.Arn}" not in body
    assert all(f"${{{name}Alias}}" in body for name in FUNCTIONS if name[:6] in ("Reques", "Status", "Webhoo"))
    plain = release(snap_start=False)["Resources"]
    assert set(resources) - set(plain) == {f"{name}{kind}" for name in FUNCTIONS for kind in ("Version", "Alias")}


def test_another_setting_publishes_another_version(operator: Operator, aws: EmulatedAws) -> None:
    def published() -> set[str]:
        resources = aws.formation.live("handoff").template["Resources"]
        return {one["Properties"]["Description"] for one in resources.values() if one["Type"] == "AWS::Lambda::Version"}

    operator.deploy("--snap-start")
    first = published()
    operator.deploy("--set", "AgentUrl=https://agent.example.org")  # SnapStart stays as it is
    second = published()
    assert (len(first), len(second)) == (1, 1)
    assert first != second
    operator.deploy("--no-snap-start")
    assert published() == set()


@pytest.mark.parametrize("snap_start", [False, True])
def test_cloudformation_would_accept_what_is_uploaded(snap_start: bool) -> None:
    text = template.as_text(release(snap_start=snap_start))
    assert len(text) < 1_000_000
    found = lint(text, config=ManualArgs(regions=["us-east-1"]))
    assert [f"{one.rule.id} {one.message}" for one in found if one.rule.id.startswith("E")] == []
