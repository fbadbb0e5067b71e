"""SAM to CloudFormation with AWS's own translator, without a network or an account. Importing this takes a while."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse


@dataclass(frozen=True)
class Region:
    """All that the translator wants to know of a session."""

    region_name: str


def to_cloudformation(text: str, parameters: Mapping[str, str], region: str) -> dict[str, Any]:
    """Translate. The functions' code is left out: it runs from the tree. Raises on a bad template."""
    template = yaml_parse(text)
    template.get("Globals", {}).get("Function", {}).pop("CodeUri", None)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"].pop("CodeUri", None)
            resource["Properties"]["InlineCode"] = "# runs from the tree"
    translator = Translator({}, Parser(), boto_session=Region(region))
    translated: dict[str, Any] = translator.translate(template, dict(parameters))
    translator.metrics.publish()  # to nowhere; else it complains that nobody did
    return translated
