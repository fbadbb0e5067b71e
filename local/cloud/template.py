"""template.yaml as plain CloudFormation, and who stands for each of its resources here."""

import json
import os
import threading
from collections.abc import Mapping
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

TEMPLATE = Path(__file__).resolve().parents[2] / "template.yaml"
KEPT = TEMPLATE.parent / ".build" / "translated"

# Who stands for each type of resource here. What is in neither table stops the start: see refuse_unknown.
IN_MOTO = frozenset(
    {
        "AWS::DynamoDB::Table",
        "AWS::IAM::Role",
        "AWS::Lambda::Function",
        "AWS::Logs::LogGroup",
        "AWS::SQS::Queue",
    }
)
IN_LOCAL = {
    "AWS::ApiGatewayV2::Api": "local/cloud/sources serves its routes",
    "AWS::ApiGatewayV2::Stage": "the local API has one stage, and throttles nobody on a laptop",
    "AWS::Lambda::EventSourceMapping": "local/cloud/sources drives the functions; inside moto each write would wait for Docker",
    "AWS::Lambda::Permission": "local event sources call functions directly",
    "AWS::Scheduler::Schedule": "local/cloud/sources keeps the time",
}


class UnknownResourceError(RuntimeError):
    """The template has a resource that nothing here stands for: running without it would be running something else."""

    def __init__(self, logical_id: str, kind: str) -> None:
        super().__init__(
            f"template.yaml has {logical_id} of type {kind}, and nothing in local/ stands for such a resource. "
            "Nothing was started. Name who stands for it in local/cloud/template.py: moto, if its CloudFormation creates "
            "it (it skips many types silently), or a module in local/."
        )


def translate(text: str, parameters: Mapping[str, str], region: str, *, keep_in: Path = KEPT) -> dict[str, Any]:
    """The template as CloudFormation; kept in a folder for the next start. Raises on a bad template."""
    kept = keep_in / f"{_fingerprint(text, parameters, region)}.json"
    if kept.exists():
        translated: dict[str, Any] = json.loads(kept.read_text())
        return translated
    from local.cloud.sam import to_cloudformation  # noqa: PLC0415 - half a second, and needed once per change

    translated = to_cloudformation(text, parameters, region)
    _keep(kept, json.dumps(translated))
    return json.loads(json.dumps(translated))  # type: ignore[no-any-return] # the translator's dicts are of its own kind


def _fingerprint(text: str, parameters: Mapping[str, str], region: str) -> str:
    """Of all that the translation depends on, so that what is kept is never stale."""
    translator = (metadata.version("aws-sam-translator"), Path(__file__).with_name("sam.py").read_text())
    return sha256(json.dumps([text, dict(parameters), region, translator], sort_keys=True).encode()).hexdigest()


def _keep(path: Path, text: str) -> None:
    """Complete or not at all: several processes may translate at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    draft.write_text(text)
    draft.replace(path)


def refuse_unknown(translated: Mapping[str, Any]) -> None:
    """Raise UnknownResourceError for a resource that neither moto nor local/ stands for."""
    for logical_id, resource in translated["Resources"].items():
        if resource["Type"] not in IN_MOTO and resource["Type"] not in IN_LOCAL:
            raise UnknownResourceError(logical_id, resource["Type"])


def for_moto(translated: Mapping[str, Any]) -> dict[str, Any]:
    """The part that moto deploys; references to the rest are replaced by the rest's logical ids."""
    ours = {name for name, resource in translated["Resources"].items() if resource["Type"] in IN_LOCAL}
    kept = {name: resource for name, resource in translated["Resources"].items() if name not in ours}
    # Rules need real accounts, and moto knows none of them.
    whole = {key: value for key, value in translated.items() if key not in ("Resources", "Rules", "Metadata")}
    replaced: dict[str, Any] = without_references({**whole, "Resources": kept}, ours)
    return replaced


def without_references(value: Any, names: set[str]) -> Any:
    """The value with each reference to one of `names` replaced by that name."""
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
