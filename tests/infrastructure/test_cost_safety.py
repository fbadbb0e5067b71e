"""What keeps a bill small, and says so when something is wrong."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from local.cloud.deploy import deploy
from local.cloud.engine import Engine
from local.paths import TEMPLATE, TRANSLATED

ACCOUNT_QUOTA = 10  # concurrent functions of a new account
FUNCTIONS = {f"{name}Function" for name in ("Request", "Status", "Process", "Turn", "Agent", "Webhook", "Sweep")}
WATCHED = {
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "DeadTurnsQueue"),
    ("AWS/SQS", "NumberOfMessagesReceived", "DeadTurnsQueue"),
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "FailedRecordsQueue"),
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "DeadRunsQueue"),
    ("AWS/SQS", "ApproximateAgeOfOldestMessage", "TurnsQueue"),
    ("AWS/SQS", "ApproximateAgeOfOldestMessage", "RunsQueue"),
    ("AWS/Lambda", "IteratorAge", "ProcessFunction"),
    *(("AWS/Lambda", metric, function) for metric in ("Errors", "Throttles") for function in FUNCTIONS),
    ("AWS/ApiGateway", "5xx", "Api"),
    ("Handoff", "HandoffsFailed", "AWS::StackName"),
    ("Handoff", "FilesUnread", "AWS::StackName"),
}


def _of_type(resources: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    return {name: resource for name, resource in resources.items() if resource["Type"] == kind}


def _metrics(alarm: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Each metric of an alarm, with the resource that it is about."""
    single = [{"Metric": alarm}] if "MetricName" in alarm else []
    for stat in (*single, *(query["MetricStat"] for query in alarm.get("Metrics", []) if "MetricStat" in query)):
        metric = stat["Metric"]
        (dimension,) = metric["Dimensions"]
        value = dimension["Value"]
        yield metric["Namespace"], metric["MetricName"], value.get("Ref") or value["Fn::GetAtt"][0]


def test_alarms_watch_whatever_can_go_wrong(resources: dict[str, Any]) -> None:
    alarms = _of_type(resources, "AWS::CloudWatch::Alarm")
    assert {metric for alarm in alarms.values() for metric in _metrics(alarm["Properties"])} == WATCHED
    for alarm in alarms.values():
        assert alarm["Properties"]["TreatMissingData"] == "notBreaching"
        assert alarm["Properties"]["AlarmActions"]["Fn::If"][:2] == ["HasAlarmEmail", [{"Ref": "AlarmTopic"}]]
        assert alarm["Properties"]["AlarmDescription"]


def test_mail_and_budget_exist_only_on_request(engine: Engine) -> None:
    mail = {"AlarmTopic", "AlarmSubscription"}
    given = {"AlarmEmail": "ops@example.org", "MonthlyBudget": "20"}
    plain = deploy(engine, TEMPLATE, {}, name="plain", cache=TRANSLATED)
    mailed = deploy(engine, TEMPLATE, {"AlarmEmail": "ops@example.org"}, name="mailed", cache=TRANSLATED)
    budgeted = deploy(engine, TEMPLATE, given, name="budgeted", cache=TRANSLATED)
    optional = mail | {"Budget"}
    assert optional & plain.resources.keys() == set()
    assert optional & mailed.resources.keys() == mail
    assert optional & budgeted.resources.keys() == optional


def test_the_dashboard_is_json_and_names_real_resources(resources: dict[str, Any]) -> None:
    (dashboard,) = _of_type(resources, "AWS::CloudWatch::Dashboard").values()
    body = dashboard["Properties"]["DashboardBody"]["Fn::Sub"]
    shown = {tuple(metric) for widget in json.loads(body)["widgets"] for metric in widget["properties"]["metrics"]}
    for namespace, metric, dimension, value in shown:
        named = value.removeprefix("${").removesuffix("}").partition(".")[0]
        assert named in resources or named == "AWS::StackName", (namespace, metric, dimension)


def test_queues_and_handoffs_leave_a_new_account_room(translated: dict[str, Any]) -> None:
    parameters = translated["Parameters"]
    limits = ("MaxConcurrentTurns", "MaxConcurrentPlaces", "ParallelHandoffs")
    assert sum(parameters[name]["Default"] for name in limits) < ACCOUNT_QUOTA - 1  # webhook and one more


def test_no_queue_may_use_up_the_quota(resources: dict[str, Any]) -> None:
    mappings = [r["Properties"] for r in _of_type(resources, "AWS::Lambda::EventSourceMapping").values()]
    queues = {m["FunctionName"]["Ref"]: m for m in mappings if "Queue" in m["EventSourceArn"]["Fn::GetAtt"][0]}
    assert {name: mapping["ScalingConfig"]["MaximumConcurrency"]["Ref"] for name, mapping in queues.items()} == {
        "TurnFunction": "MaxConcurrentPlaces",
        "AgentFunction": "MaxConcurrentTurns",
    }


def test_a_first_deploy_reserves_no_concurrency(translated: dict[str, Any]) -> None:
    assert translated["Parameters"]["ReservedConcurrency"]["Default"] == 0
    for name, function in _of_type(translated["Resources"], "AWS::Lambda::Function").items():
        reserved = function["Properties"].get("ReservedConcurrentExecutions")
        if name in ("WebhookFunction", "RequestFunction"):
            chosen = [{"Ref": "ReservedConcurrency"}, {"Ref": "AWS::NoValue"}]
            assert reserved == {"Fn::If": ["ReservesConcurrency", *chosen]}
        else:
            assert reserved is None


def test_concurrency_can_be_reserved(engine: Engine) -> None:
    stack = deploy(engine, TEMPLATE, {"ReservedConcurrency": "20"}, name="reserved", cache=TRANSLATED)
    name = stack.functions["WebhookFunction"].name
    assert engine.client("lambda").get_function_concurrency(FunctionName=name)["ReservedConcurrentExecutions"] == 20


def test_tables_and_indexes_have_a_cap(resources: dict[str, Any]) -> None:
    cap = {"MaxReadRequestUnits": {"Ref": "MaxTableReads"}, "MaxWriteRequestUnits": {"Ref": "MaxTableWrites"}}
    tables = _of_type(resources, "AWS::DynamoDB::Table")
    assert len(tables) == 2
    for table in tables.values():
        for capped in (table["Properties"], *table["Properties"]["GlobalSecondaryIndexes"]):
            assert capped["OnDemandThroughput"] == cap


@pytest.mark.parametrize("name", ["DeadlineSeconds", "LeaseSeconds", "TurnLeaseSeconds", "FreshnessSeconds"])
def test_a_time_limit_has_a_smallest_value(translated: dict[str, Any], name: str) -> None:
    parameter = translated["Parameters"][name]
    assert 0 <= parameter["MinValue"] <= parameter["Default"]
    assert parameter["MinValue"] > 0 or name == "FreshnessSeconds"
