"""Fixtures for the local cloud: roles with the grants that a test gives, a table with a stream, function configurations."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from local.cloud.engine import Engine
from local.cloud.stack import FunctionConfig


class Role:
    """A role that may do what a test allows: one action on one resource each."""

    def __init__(self, engine: Engine) -> None:
        self._iam = engine.client("iam")
        self._name = uuid4().hex
        self._grants: set[tuple[str, str]] = set()
        self.arn: str = self._iam.create_role(RoleName=self._name, AssumeRolePolicyDocument="{}")["Role"]["Arn"]

    def allow(self, *grants: tuple[str, str]) -> None:
        self._grants |= set(grants)
        statements = [{"Effect": "Allow", "Action": action, "Resource": one} for action, one in sorted(self._grants)]
        document = json.dumps({"Version": "2012-10-17", "Statement": statements})
        self._iam.put_role_policy(RoleName=self._name, PolicyName="allowed", PolicyDocument=document)

    def function(self, logical_id: str) -> FunctionConfig:
        """Return a function that runs under this role."""
        return FunctionConfig(logical_id, logical_id.lower(), "app.handler", 20, 256, {}, self.arn)


class StreamTable:
    """A table with a stream."""

    def __init__(self, engine: Engine) -> None:
        self.name = f"t{uuid4().hex}"
        self._client = engine.client("dynamodb")
        created = self._client.create_table(
            TableName=self.name,
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
        self.stream_arn: str = created["TableDescription"]["LatestStreamArn"]

    def put(self, name: str, **attributes: Any) -> None:
        self._client.put_item(TableName=self.name, Item={"id": {"S": name}, **attributes})

    def delete(self, name: str) -> None:
        self._client.delete_item(TableName=self.name, Key={"id": {"S": name}})


@pytest.fixture
def role(engine: Engine) -> Role:
    return Role(engine)


@pytest.fixture
def make_table(engine: Engine) -> Callable[[], StreamTable]:
    return lambda: StreamTable(engine)


@pytest.fixture
def stream_table(make_table: Callable[[], StreamTable]) -> StreamTable:
    return make_table()


def function(
    logical_id: str, handler: str = "app.handler", *, timeout: float = 20, **environment: str
) -> FunctionConfig:
    return FunctionConfig(
        logical_id=logical_id,
        name=f"stack-{logical_id}",
        handler=handler,
        timeout=timeout,
        memory=256,
        environment=environment,
        role_arn=f"arn:aws:iam::123456789012:role/{logical_id}",
    )


@pytest.fixture
def make_function() -> Callable[..., FunctionConfig]:
    return function
