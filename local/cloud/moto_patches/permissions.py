"""Permissions that a request needs, according to AWS's service authorization reference."""

# ruff: noqa: SLF001 - reads the internals of moto

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Permission = tuple[str, str]  # action, resource

UNNAMED = "?"
IN_TRANSACTIONS = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
    "Get": "GetItem",
}


def permissions_of(response: Any) -> list[Permission]:
    """Return what the caller of this moto response must be allowed to do; several for transactions and batches."""
    of_service = BY_SERVICE.get(response.service_name)
    if of_service is None:
        return [(f"{response.boto3_service_name}:{response._get_action()}", "*")]
    return list(of_service(response))


def leading_keys(response: Any) -> frozenset[str]:
    """The partition keys of the items that a call names, as `dynamodb:LeadingKeys` has them.

    `UNNAMED` is among them where this is not worked out (queries, batches): a condition on keys does not hold then.
    """
    if response.service_name != "dynamodb":
        return frozenset({UNNAMED})
    body = _body(response)
    operations = [operation for entry in body.get("TransactItems", ()) for operation in entry.values()] or [body]
    return frozenset(_leading_key(response, operation) for operation in operations)


def _leading_key(response: Any, operation: Mapping[str, Any]) -> str:
    table = response.dynamodb_backend.tables.get(operation.get("TableName"))
    item = operation.get("Key") or operation.get("Item") or {}
    return str(next(iter(item[table.hash_key_attr].values()))) if table and table.hash_key_attr in item else UNNAMED


def _dynamodb(response: Any) -> Iterable[Permission]:
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
    is_arn = name.startswith("arn:")
    return name if is_arn else f"arn:aws:dynamodb:{response.region}:{response.current_account}:table/{name}"


def _streams(response: Any) -> Iterable[Permission]:
    body = _body(response)
    arn = body.get("StreamArn") or body.get("ShardIterator", "*").split("|")[0]
    yield f"dynamodb:{response._get_action()}", arn


def _sqs(response: Any) -> Iterable[Permission]:
    action = response._get_action().removesuffix("Batch")  # IAM has SendMessage, not SendMessageBatch
    yield f"sqs:{action}", response._determine_resource()


IN_S3 = {
    "HeadObject": "GetObject",
    "ListObjects": "ListBucket",
    "ListObjectsV2": "ListBucket",
    "DeleteObjects": "DeleteObject",
}
"""What S3 calls an action in a policy, where that is not the name of the operation."""


def _s3(response: Any) -> Iterable[Permission]:
    action, name = response._get_action(), response.s3_object
    keys = re.findall(rb"<Key>([^<]+)</Key>", response.raw_body or b"") if action == "DeleteObjects" else []
    for resource in [f"{name}/{key.decode()}" for key in keys] or [name]:
        yield f"s3:{IN_S3.get(action, action)}", f"arn:aws:s3:::{resource}"


def _ssm(response: Any) -> Iterable[Permission]:
    body = _body(response)
    names = body.get("Names") or [body.get("Path") or body.get("Name") or body.get("ResourceId") or "*"]
    # Who stores a parameter with tags must be allowed to set tags.
    actions = [response._get_action(), *(["AddTagsToResource"] if body.get("Tags") else [])]
    for name in names:
        path = name if name.startswith("/") else f"/{name}"  # a trailing slash is significant, as in IAM
        arn = f"arn:aws:ssm:{response.region}:{response.current_account}:parameter{path}"
        yield from ((f"ssm:{action}", arn) for action in actions)


def _body(response: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(response.raw_body or b"{}")
    return body


BY_SERVICE: dict[str, Callable[[Any], Iterable[Permission]]] = {
    "dynamodb": _dynamodb,
    "dynamodbstreams": _streams,
    "s3": _s3,
    "sqs": _sqs,
    "ssm": _ssm,
}
