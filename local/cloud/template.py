"""Translates a SAM template to CloudFormation, and says what emulates each of its resource types."""

import json
import os
import threading
from collections.abc import Mapping
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

# What emulates each type of resource. A type in none of the tables stops the deploy: see refuse_unknown.
IN_MOTO = frozenset(
    {
        "AWS::DynamoDB::Table",
        "AWS::IAM::Role",
        "AWS::Lambda::Function",
        "AWS::Logs::LogGroup",
        "AWS::S3::Bucket",
        "AWS::SQS::Queue",
    }
)
IN_LOCAL = {
    "AWS::ApiGatewayV2::Api": "sources/http_api.py serves its routes",
    "AWS::ApiGatewayV2::Stage": "the local API has one stage and no throttling",
    "AWS::Lambda::EventInvokeConfig": "sources/schedule.py repeats a failed call as often as it says",
    "AWS::Lambda::EventSourceMapping": "sources/stream.py and sources/queue.py; in moto each write would wait for Docker",
    "AWS::Lambda::Permission": "local event sources invoke functions directly",
    "AWS::S3::BucketPolicy": "it refuses requests without TLS; on loopback there is none",
    "AWS::Scheduler::Schedule": "sources/schedule.py",
}
OBSERVERS = frozenset(
    {
        "AWS::Budgets::Budget",
        "AWS::CloudWatch::Alarm",
        "AWS::CloudWatch::Dashboard",
        "AWS::SNS::Subscription",
        "AWS::SNS::Topic",
    }
)
"""Watch a deployment from outside and send mail: no function can notice them, so the local cloud creates none."""
NOT_IN_MOTO = OBSERVERS | IN_LOCAL.keys()


class UnknownResourceError(RuntimeError):
    """The template has a resource type that is not emulated."""

    def __init__(self, logical_id: str, kind: str) -> None:
        super().__init__(
            f"The template has {logical_id} of type {kind}, which the local cloud does not emulate. Nothing was started. "
            "To add the type, list it in local/cloud/template.py: in IN_MOTO if moto's CloudFormation creates it "
            "(moto skips many types silently), in IN_LOCAL with a module that emulates it, or in OBSERVERS if no function "
            "can notice it."
        )


def translate(text: str, region: str, *, cache: Path | None = None) -> dict[str, Any]:
    """Return the template as CloudFormation, from the cache folder if it has it. Raises on an invalid template."""
    cached = cache / f"{_fingerprint(text, region)}.json" if cache else None
    if cached is None or not cached.exists():
        from local.cloud.sam import to_cloudformation  # noqa: PLC0415 - takes half a second to import

        translated = json.dumps(to_cloudformation(text, region))
        if cached is not None:
            _write(cached, translated)
    else:
        translated = cached.read_text()
    document: dict[str, Any] = json.loads(translated)
    return document


def _fingerprint(text: str, region: str) -> str:
    """Cover everything that the translation depends on, so that the cache is never stale."""
    translator = (metadata.version("aws-sam-translator"), Path(__file__).with_name("sam.py").read_text())
    return sha256(json.dumps([text, region, translator]).encode()).hexdigest()


def _write(path: Path, text: str) -> None:
    """Write atomically: several processes may translate at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    partial.write_text(text)
    partial.replace(path)


def refuse_unknown(translated: Mapping[str, Any]) -> None:
    """Raise UnknownResourceError for the first resource whose type is in none of the tables."""
    for logical_id, resource in translated["Resources"].items():
        if resource["Type"] not in IN_MOTO | NOT_IN_MOTO:
            raise UnknownResourceError(logical_id, resource["Type"])


def for_moto(translated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part that moto deploys; references to the rest are replaced by the rest's logical ids."""
    ours = {name for name, resource in translated["Resources"].items() if resource["Type"] in NOT_IN_MOTO}
    kept = {name: resource for name, resource in translated["Resources"].items() if name not in ours}
    # Rules check real accounts and VPCs, which moto does not have.
    whole = {key: value for key, value in translated.items() if key not in ("Resources", "Rules", "Metadata")}
    replaced: dict[str, Any] = without_references({**whole, "Resources": kept}, ours)
    return replaced


def without_references(value: Any, names: set[str]) -> Any:
    """Return the value with each reference to one of `names` replaced by that name."""
    match value:
        case {"Ref": str() as name} if name in names:
            return name
        case dict():
            return {key: without_references(item, names) for key, item in value.items()}
        case list():
            return [without_references(item, names) for item in value]
        case str():
            for name in names:
                value = value.replace(f"${{{name}}}", name)
            return value
        case _:
            return value
