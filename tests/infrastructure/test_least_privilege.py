"""Each function may do what it needs, on what it needs, and nothing else."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.cloud.deploy import deploy
from local.cloud.engine import Engine
from local.cloud.moto_patches.policies import as_list
from local.cloud.stack import Stack
from local.paths import TEMPLATE, TRANSLATED
from local.service import put_secrets
from shared.aws.secrets import SsmSecrets
from shared.store.keys import DIRECTORY

# Resource "*" where IAM knows no narrower one.
UNSCOPED = {"dynamodb:ListStreams"}
OBJECTS = {"Fn::Sub": "${FilesBucket.Arn}/*"}
ON_OBJECTS = {"s3:GetObject", "s3:PutObject", "s3:DeleteObject"}
READS_OF_FILES = {"s3:GetObject", "s3:ListBucket"}
READS = {"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"}
ITSELF = {"logs:CreateLogStream", "logs:PutLogEvents", "ssm:GetParametersByPath"}


def _statements(role: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for policy in role["Properties"].get("Policies", []):
        for statement in as_list(policy["PolicyDocument"]["Statement"]):
            yield statement["Fn::If"][1] if "Fn::If" in statement else statement


def _too_broad(role: dict[str, Any]) -> list[str]:
    """Each grant of a role that says "any"."""
    found = [f"managed policy {arn}" for arn in role["Properties"].get("ManagedPolicyArns", [])]
    for statement in _statements(role):
        actions = set(as_list(statement["Action"]))
        found += [f"action {action}" for action in actions if "*" in action]
        for resource in as_list(statement["Resource"]):
            is_objects = resource == OBJECTS and actions <= ON_OBJECTS
            if "*" in str(resource) and not is_objects and not (resource == "*" and actions <= UNSCOPED):
                found.append(f"{sorted(actions)} on {resource}")
    return found


@pytest.fixture
def roles(resources: dict[str, Any]) -> dict[str, Any]:
    return {name: r for name, r in resources.items() if r["Type"] == "AWS::IAM::Role"}


def test_no_role_grants_a_wildcard(roles: dict[str, Any]) -> None:
    assert {name: _too_broad(role) for name, role in roles.items() if _too_broad(role)} == {}


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("dynamodb:*", {"Fn::GetAtt": ["HandoffsTable", "Arn"]}),
        ("dynamodb:PutItem", "*"),
        ("dynamodb:Query", {"Fn::Sub": "${HandoffsTable.Arn}/index/*"}),
    ],
)
def test_a_wildcard_would_be_found(action: str, resource: Any) -> None:
    statement = {"Effect": "Allow", "Action": action, "Resource": resource}
    role = {"Properties": {"Policies": [{"PolicyDocument": {"Statement": [statement]}}]}}
    assert len(_too_broad(role)) == 1


def test_each_function_has_a_role_of_its_own(resources: dict[str, Any]) -> None:
    functions = {name: r["Properties"] for name, r in resources.items() if r["Type"] == "AWS::Lambda::Function"}
    roles = {name: properties["Role"]["Fn::GetAtt"][0] for name, properties in functions.items()}
    assert roles == {name: name.replace("Function", "Role") for name in functions}


def test_status_may_write_the_directory_of_users_only(roles: dict[str, Any]) -> None:
    statements = list(_statements(roles["StatusRole"]))
    anywhere = {action for each in statements if "Condition" not in each for action in as_list(each["Action"])}
    assert anywhere == READS | READS_OF_FILES | ITSELF
    (limited,) = [each for each in statements if "Condition" in each]
    assert limited["Action"] == "dynamodb:PutItem"
    assert limited["Condition"] == {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [DIRECTORY]}}


def test_only_agent_may_invoke_models_and_only_with_bedrock(roles: dict[str, Any], cloud: Engine, stack: Stack) -> None:
    invoking = {
        name
        for name, role in roles.items()
        for statement in _statements(role)
        if any(action.startswith("bedrock:") for action in as_list(statement["Action"]))
    }
    assert invoking == {"AgentRole"}
    granted = {grant.action for grant in cloud.access.unused(stack.functions["AgentFunction"].role_arn)}
    assert "sqs:ReceiveMessage" in granted
    assert not any(action.startswith("bedrock:") for action in granted)


def test_only_agent_may_read_the_key_of_the_agent(roles: dict[str, Any]) -> None:
    paths = {
        name: [
            statement["Resource"]["Fn::Sub"].rpartition(":")[2] for statement in _statements(role) if _is_ssm(statement)
        ]
        for name, role in roles.items()
    }
    platforms, agent = "parameter${SecretsPrefix}", "parameter${SecretsPrefix}-agent"
    assert paths.pop("AgentRole") == [platforms, agent]
    assert {name for name, granted in paths.items() if granted} == {
        "RequestRole",
        "StatusRole",
        "ProcessRole",
        "TurnRole",
        "WebhookRole",
        "SweepRole",
    }
    assert all(granted in ([], [platforms]) for granted in paths.values())


def _is_ssm(statement: dict[str, Any]) -> bool:
    return bool(statement["Action"] == "ssm:GetParametersByPath")


@pytest.mark.parametrize("function", ["WebhookFunction", "TurnFunction"])
def test_others_cannot_reach_the_key_of_the_agent(engine: Engine, function: str) -> None:
    stack = deploy(engine, TEMPLATE, {"Agent": "openai"}, name=f"key-{function}", cache=TRANSLATED)
    prefix = stack.outputs["SecretsPrefix"]
    put_secrets(engine.client("ssm"), prefix, {"agent/key": "sk-secret", "telegram/bot_token": "1:abc"})
    other, agent = (
        SsmSecrets(engine.client("ssm", engine.assume(stack.functions[name].role_arn)), prefix)
        for name in (function, "AgentFunction")
    )
    assert other.get("telegram/bot_token") == agent.get("telegram/bot_token") == "1:abc"
    assert agent.get("agent/key") == "sk-secret"
    with pytest.raises(ClientError, match="AccessDeniedException"):
        other.get("agent/key")


def test_status_can_read_and_not_write(cloud: Engine, stack: Stack) -> None:
    client = cloud.client("dynamodb", cloud.assume(stack.functions["StatusFunction"].role_arn))
    table, key = stack.resources["HandoffsTable"], {"handoff_id": {"S": "h"}}
    client.get_item(TableName=table, Key=key)
    sessions = stack.resources["SessionsTable"]
    forged = {"pk": {"S": "USER#ada"}, "sk": {"S": "TOKEN#0"}}
    writes: Sequence[Callable[[], Any]] = (
        lambda: client.put_item(TableName=table, Item=key),
        lambda: client.delete_item(TableName=table, Key=key),
        lambda: client.update_item(TableName=table, Key=key),
        lambda: client.transact_write_items(TransactItems=[{"Put": {"TableName": table, "Item": key}}]),
        lambda: client.batch_write_item(RequestItems={table: [{"PutRequest": {"Item": key}}]}),
        lambda: client.delete_table(TableName=table),
        lambda: client.put_item(TableName=sessions, Item=forged),
    )
    for write in writes:
        with pytest.raises(ClientError, match="AccessDeniedException"):
            write()
    client.put_item(TableName=sessions, Item={"pk": {"S": DIRECTORY}, "sk": {"S": "ada/1"}})
