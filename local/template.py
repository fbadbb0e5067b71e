"""Reads template.yaml and turns it into plain CloudFormation, without a network or an account."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse

TEMPLATE = Path(__file__).resolve().parent.parent / "template.yaml"

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
    "AWS::ApiGatewayV2::Api": "local/sources serves its routes",
    "AWS::ApiGatewayV2::Stage": "the local API has one stage, and throttles nobody on a laptop",
    "AWS::Lambda::EventSourceMapping": "local/sources drives the functions; inside moto each write would wait for Docker",
    "AWS::Lambda::Permission": "local event sources call functions directly",
    "AWS::Scheduler::Schedule": "local/sources keeps the time",
}


class UnknownResourceError(RuntimeError):
    """The template has a resource that nothing here stands for: running without it would be running something else."""

    def __init__(self, logical_id: str, kind: str) -> None:
        super().__init__(
            f"template.yaml has {logical_id} of type {kind}, and nothing in local/ stands for such a resource. "
            "Nothing was started. Name who stands for it in local/template.py: moto, if its CloudFormation creates "
            "it (it skips many types silently), or a module in local/."
        )


@dataclass(frozen=True)
class Region:
    """All that the translator wants to know of a session."""

    region_name: str


def translate(text: str, parameters: Mapping[str, str], region: str) -> dict[str, Any]:
    """SAM to CloudFormation. The functions' code is left out: it runs from the tree. Raises on a bad template."""
    translated: dict[str, Any] = json.loads(_translated(text, tuple(sorted(parameters.items())), region))
    return translated


@lru_cache(maxsize=16)  # tests deploy the same template again and again
def _translated(text: str, parameters: tuple[tuple[str, str], ...], region: str) -> str:
    template = yaml_parse(text)
    template.get("Globals", {}).get("Function", {}).pop("CodeUri", None)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"].pop("CodeUri", None)
            resource["Properties"]["InlineCode"] = "# runs from the tree"
    translator = Translator({}, Parser(), boto_session=Region(region))
    translated = translator.translate(template, dict(parameters))
    translator.metrics.publish()  # to nowhere; else it complains that nobody did
    return json.dumps(translated)


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
