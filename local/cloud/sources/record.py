"""Converts stream records to Lambda events."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Record:
    """One change of one item. `key` identifies the item; `created_at` is in seconds since the epoch."""

    event: Mapping[str, Any]
    sequence: str
    key: str
    created_at: float


def lambda_record(raw: Mapping[str, Any], stream_arn: str) -> Record:
    """Convert a record from GetRecords: times to seconds, binaries to base64; add the stream's ARN."""
    change = {**raw["dynamodb"]}
    created_at = change["ApproximateCreationDateTime"].timestamp()
    change["ApproximateCreationDateTime"] = int(created_at)
    for image in {"Keys", "NewImage", "OldImage"} & set(change):
        change[image] = _jsonable(change[image])
    event = {
        "eventID": raw["eventID"],
        "eventName": raw["eventName"],
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": stream_arn.split(":")[3],
        "dynamodb": change,
        "eventSourceARN": stream_arn,
    }
    if "userIdentity" in raw:  # on deletions by TTL
        identity = raw["userIdentity"]
        event["userIdentity"] = {"type": identity["Type"], "principalId": identity["PrincipalId"]}
    key = json.dumps(change["Keys"], sort_keys=True)
    return Record(event, change["SequenceNumber"], key, created_at)


def _jsonable(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {name: _jsonable(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_jsonable(one) for one in value]
    return value
