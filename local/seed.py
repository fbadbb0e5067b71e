"""The store of a local stack, and its secrets."""

from collections.abc import Mapping
from typing import Any

from local.cloud.engine import Engine
from local.cloud.stack import Stack
from shared.aws.secrets import parameter_of
from shared.aws.tables import DynamoTables
from shared.store.bundle import Store, store_on


def store_of(engine: Engine, stack: Stack) -> Store:
    """The store of a local stack, with the permissions of the account."""
    names = stack.resources
    client = engine.client("dynamodb")
    return store_on(DynamoTables(client, handoffs=names["HandoffsTable"], sessions=names["SessionsTable"]))


def put_secrets(ssm: Any, prefix: str, secrets: Mapping[str, str]) -> None:
    """Set secrets, as the operator of a deployment does."""
    for name, value in secrets.items():
        ssm.put_parameter(Name=parameter_of(prefix, name), Value=value, Type="SecureString", Overwrite=True)
