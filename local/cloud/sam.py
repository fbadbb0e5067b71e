"""Translates SAM to CloudFormation with AWS's translator, offline. Takes half a second to import."""

from types import SimpleNamespace
from typing import Any

from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse


def to_cloudformation(text: str, region: str) -> dict[str, Any]:
    """Translate without the functions' code, which runs from the source tree. Raises on an invalid template."""
    template = yaml_parse(text)
    template.get("Globals", {}).get("Function", {}).pop("CodeUri", None)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"].pop("CodeUri", None)
            resource["Properties"]["InlineCode"] = "# runs from the source tree"
    session = SimpleNamespace(region_name=region)  # the part of a boto3 session that the translator reads
    translator = Translator({}, Parser(), boto_session=session)
    translated: dict[str, Any] = translator.translate(template, {})
    translator.metrics.publish()  # a no-op that avoids a warning at exit
    return translated
