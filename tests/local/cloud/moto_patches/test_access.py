"""IAM policies are enforced, and the use of grants is recorded."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from local.cloud.engine import Engine


@pytest.fixture(scope="module")
def cloud() -> Iterator[Engine]:
    """An engine with a table and a secret."""
    engine = Engine.start()
    engine.client("dynamodb").create_table(
        TableName="items",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "owner")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by_owner",
                "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    engine.client("ssm").put_parameter(Name="/secrets/telegram/bot_token", Type="SecureString", Value="42:x")
    yield engine
    engine.stop()


@pytest.fixture
def role(cloud: Engine, request: pytest.FixtureRequest) -> Any:
    """Return a function that creates a role with the given statements."""

    def make(*statements: dict[str, Any]) -> str:
        name = f"role-{abs(hash(request.node.name)) % 10**9}"
        iam = cloud.client("iam")
        trust = json.dumps({"Version": "2012-10-17", "Statement": []})
        arn: str = iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust)["Role"]["Arn"]
        document = json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
        iam.put_role_policy(RoleName=name, PolicyName="given", PolicyDocument=document)
        return arn

    return make


def _allow(action: str | list[str], resource: str | list[str], effect: str = "Allow") -> dict[str, Any]:
    return {"Effect": effect, "Action": action, "Resource": resource}


def _table(cloud: Engine, name: str = "items") -> str:
    return f"arn:aws:dynamodb:us-east-1:{cloud.account_id}:table/{name}"


def _put(pk: str) -> dict[str, Any]:
    return {"Put": {"TableName": "items", "Item": {"pk": {"S": pk}}}}


def test_a_missing_grant_is_denied(cloud: Engine, role: Any) -> None:
    arn = role(_allow("dynamodb:GetItem", _table(cloud)))
    client = cloud.client("dynamodb", cloud.assume(arn))
    client.get_item(TableName="items", Key={"pk": {"S": "a"}})
    with pytest.raises(ClientError, match="AccessDeniedException") as caught:
        client.put_item(TableName="items", Item={"pk": {"S": "denied"}})
    assert "dynamodb:PutItem" in str(caught.value)
    assert _table(cloud) in str(caught.value)
    assert "Item" not in cloud.client("dynamodb").get_item(TableName="items", Key={"pk": {"S": "denied"}})


def test_a_grant_on_a_table_does_not_cover_its_index(cloud: Engine, role: Any) -> None:
    arn = role(_allow("dynamodb:Query", _table(cloud)))
    client = cloud.client("dynamodb", cloud.assume(arn))
    query = {"TableName": "items", "ExpressionAttributeValues": {":v": {"S": "a"}}}
    client.query(**query, KeyConditionExpression="pk = :v")
    with pytest.raises(ClientError, match="index/by_owner"):
        client.query(
            **query,
            IndexName="by_owner",
            KeyConditionExpression="#o = :v",
            ExpressionAttributeNames={"#o": "owner"},
        )


def test_a_transaction_needs_a_grant_for_each_kind_of_its_items(cloud: Engine, role: Any) -> None:
    arn = role(_allow("dynamodb:PutItem", _table(cloud)))
    client = cloud.client("dynamodb", cloud.assume(arn))
    client.transact_write_items(TransactItems=[_put("tx")])
    check = {
        "ConditionCheck": {
            "TableName": "items",
            "Key": {"pk": {"S": "tx"}},
            "ConditionExpression": "attribute_exists(pk)",
        }
    }
    with pytest.raises(ClientError, match="dynamodb:ConditionCheckItem"):
        client.transact_write_items(TransactItems=[_put("tx2"), check])
    assert "Item" not in cloud.client("dynamodb").get_item(TableName="items", Key={"pk": {"S": "tx2"}})


def test_an_explicit_deny_wins(cloud: Engine, role: Any) -> None:
    arn = role(_allow("dynamodb:*", "*"), _allow("dynamodb:PutItem", _table(cloud), "Deny"))
    client = cloud.client("dynamodb", cloud.assume(arn))
    client.get_item(TableName="items", Key={"pk": {"S": "a"}})
    with pytest.raises(ClientError, match="AccessDeniedException"):
        client.put_item(TableName="items", Item={"pk": {"S": "a"}})


def test_grants_on_queues_cover_batches(cloud: Engine, role: Any) -> None:
    sqs = cloud.client("sqs")
    mine = sqs.create_queue(QueueName="mine")["QueueUrl"]
    other = sqs.create_queue(QueueName="other")["QueueUrl"]
    arn = role(_allow("sqs:SendMessage", f"arn:aws:sqs:us-east-1:{cloud.account_id}:mine"))
    client = cloud.client("sqs", cloud.assume(arn))
    client.send_message_batch(QueueUrl=mine, Entries=[{"Id": "1", "MessageBody": "x"}])
    with pytest.raises(ClientError, match="AccessDenied"):
        client.send_message(QueueUrl=other, MessageBody="x")
    with pytest.raises(ClientError, match="AccessDenied"):
        client.receive_message(QueueUrl=mine)


def test_secrets_are_granted_by_path(cloud: Engine, role: Any) -> None:
    arn = role(_allow("ssm:GetParametersByPath", f"arn:aws:ssm:us-east-1:{cloud.account_id}:parameter/secrets"))
    client = cloud.client("ssm", cloud.assume(arn))
    found = client.get_parameters_by_path(Path="/secrets", Recursive=True, WithDecryption=True)["Parameters"]
    assert [parameter["Value"] for parameter in found] == ["42:x"]
    with pytest.raises(ClientError, match="AccessDenied"):
        client.get_parameters_by_path(Path="/", Recursive=True)


def test_a_wrong_key_and_an_unknown_one_are_refused(cloud: Engine, role: Any) -> None:
    good = cloud.assume(role(_allow("dynamodb:*", "*")))
    wrong = Credentials(good.access_key, "not the secret", good.token)
    with pytest.raises(ClientError, match="InvalidSignatureException"):
        cloud.client("dynamodb", wrong).list_tables()
    stolen = Credentials(good.access_key, good.secret_key, "another token")
    with pytest.raises(ClientError, match="UnrecognizedClientException"):
        cloud.client("dynamodb", stolen).list_tables()
    unknown = Credentials("AKIAUNKNOWN000000000", "secret")
    with pytest.raises(ClientError, match="UnrecognizedClientException"):
        cloud.client("dynamodb", unknown).list_tables()


def test_used_and_unused_grants_are_recorded(cloud: Engine, role: Any) -> None:
    arn = role(_allow(["dynamodb:GetItem", "dynamodb:DeleteItem"], _table(cloud)))
    cloud.client("dynamodb", cloud.assume(arn)).get_item(TableName="items", Key={"pk": {"S": "a"}})
    used = {grant for grant in cloud.access.used if grant.role == arn}
    assert used == {(arn, "dynamodb:GetItem", _table(cloud))}
    assert cloud.access.unused(arn) == {(arn, "dynamodb:DeleteItem", _table(cloud))}


def test_changes_of_policies_take_effect_at_once(cloud: Engine, role: Any) -> None:
    arn = role(_allow("dynamodb:GetItem", _table(cloud)))
    client, iam, name = cloud.client("dynamodb", cloud.assume(arn)), cloud.client("iam"), arn.rpartition("/")[2]
    put = {"TableName": "items", "Item": {"pk": {"S": "a"}}}
    document = json.dumps({"Version": "2012-10-17", "Statement": [_allow("dynamodb:PutItem", _table(cloud))]})
    with pytest.raises(ClientError, match="AccessDeniedException"):
        client.put_item(**put)
    iam.put_role_policy(RoleName=name, PolicyName="later", PolicyDocument=document)
    client.put_item(**put)
    iam.delete_role_policy(RoleName=name, PolicyName="later")
    with pytest.raises(ClientError, match="AccessDeniedException"):
        client.put_item(**put)


def test_an_unsupported_statement_is_an_error(cloud: Engine, role: Any) -> None:
    conditional = {**_allow("dynamodb:*", "*"), "Condition": {"StringEquals": {"aws:RequestedRegion": "us-east-1"}}}
    client = cloud.client("dynamodb", cloud.assume(role(conditional)))
    with pytest.raises(ClientError, match="InternalServerError"):
        client.list_tables()


def test_a_condition_on_partition_keys_is_enforced(cloud: Engine, role: Any) -> None:
    keys = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["mine"]}}
    client = cloud.client("dynamodb", cloud.assume(role({**_allow("dynamodb:*", _table(cloud)), "Condition": keys})))

    client.put_item(TableName="items", Item={"pk": {"S": "mine"}})
    client.transact_write_items(TransactItems=[{"Put": {"TableName": "items", "Item": {"pk": {"S": "mine"}}}}])

    mixed = [{"Put": {"TableName": "items", "Item": {"pk": {"S": key}}}} for key in ("mine", "other")]
    with pytest.raises(ClientError, match="AccessDeniedException"):
        client.put_item(TableName="items", Item={"pk": {"S": "other"}})
    with pytest.raises(ClientError, match="AccessDeniedException"):
        client.delete_item(TableName="items", Key={"pk": {"S": "other"}})
    with pytest.raises(ClientError, match="AccessDeniedException"):
        client.scan(TableName="items")
    with pytest.raises(ClientError, match="AccessDeniedException"):
        client.transact_write_items(TransactItems=mixed)
