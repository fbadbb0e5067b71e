"""Which permissions a request needs, as AWS's service authorization reference has them."""

# ruff: noqa: SLF001 - the shim's business is the inside of another program

import json
from collections.abc import Callable, Iterable
from typing import Any

Demand = tuple[str, str]  # action, resource

IN_TRANSACTIONS = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
    "Get": "GetItem",
}


def demands_of(response: Any) -> list[Demand]:
    """What the caller of this moto response must be allowed to do; several for transactions and batches."""
    named = BY_SERVICE.get(response.service_name)
    if named is None:
        return [(f"{response.boto3_service_name}:{response._get_action()}", "*")]
    return list(named(response))


def _dynamodb(response: Any) -> Iterable[Demand]:
    body, action = _body(response), response._get_action()
    if action in ("TransactWriteItems", "TransactGetItems"):
        for entry in body["TransactItems"]:
            for kind, operation in entry.items():
                yield f"dynamodb:{IN_TRANSACTIONS[kind]}", _table(response, operation["TableName"])
    elif action in ("BatchGetItem", "BatchWriteItem"):
        for name in body["RequestItems"]:
            yield f"dynamodb:{action}", _table(response, name)
    elif "TableName" not in body:
        yield f"dynamodb:{action}", "*"
    else:
        index = f"/index/{body['IndexName']}" if body.get("IndexName") else ""
        yield f"dynamodb:{action}", _table(response, body["TableName"]) + index


def _table(response: Any, name: str) -> str:
    return (
        name
        if name.startswith("arn:")
        else f"arn:aws:dynamodb:{response.region}:{response.current_account}:table/{name}"
    )


def _streams(response: Any) -> Iterable[Demand]:
    body = _body(response)
    arn = body.get("StreamArn") or body.get("ShardIterator", "*").split("|")[0]
    yield f"dynamodb:{response._get_action()}", arn


def _sqs(response: Any) -> Iterable[Demand]:
    action = response._get_action().removesuffix("Batch")  # IAM knows SendMessage, not SendMessageBatch
    yield f"sqs:{action}", response._determine_resource()


def _ssm(response: Any) -> Iterable[Demand]:
    body = _body(response)
    names = body.get("Names") or [body.get("Path") or body.get("Name") or "*"]
    for name in names:
        path = name if name.startswith("/") else f"/{name}"  # a slash at the end counts, as it does for IAM
        yield (
            f"ssm:{response._get_action()}",
            f"arn:aws:ssm:{response.region}:{response.current_account}:parameter{path}",
        )


def _body(response: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(response.raw_body or b"{}")
    return body


BY_SERVICE: dict[str, Callable[[Any], Iterable[Demand]]] = {
    "dynamodb": _dynamodb,
    "dynamodbstreams": _streams,
    "sqs": _sqs,
    "ssm": _ssm,
}
