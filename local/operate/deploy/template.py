"""The template as CloudFormation gets it: translated ahead, with the code of one release filled in."""

import copy
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from local.operate.deploy.problems import WrongUsage
from local.operate.deploy.snap_start import with_snap_start

Template = dict[str, Any]
PATH = Path(__file__).with_name("template.json")
"""template.yaml, translated from SAM by `make template`: what the tests deploy is what AWS gets, and no macro runs there."""
FUNCTION, TABLE, QUEUE = "AWS::Lambda::Function", "AWS::DynamoDB::Table", "AWS::SQS::Queue"
BUCKET = "AWS::S3::Bucket"
RELEASE = "Release"
"""An output that names the version and the code, so that `handoff doctor` can compare."""


def load() -> Template:
    """The template without code."""
    template: Template = json.loads(PATH.read_text())
    return template


def mark_of(template: Mapping[str, Any]) -> Any:
    """What tells the template of Handoff from all others; None if it is another one."""
    match template.get("Metadata"):
        case {"Handoff": {"Mark": mark}}:
            return mark
    return None


def runtime(template: Mapping[str, Any]) -> tuple[str, str]:
    """The Python version and the architecture of all functions."""
    functions = [one["Properties"] for one in template["Resources"].values() if one["Type"] == FUNCTION]
    ((version, architecture),) = {(one["Runtime"], *one["Architectures"]) for one in functions}
    return version.removeprefix("python"), architecture


def for_release(
    template: Template, *, bucket: str, key: str, version: str, snap_start: bool, values: Mapping[str, str]
) -> Template:
    """A copy whose functions run the code at that place. `values` are those of all parameters."""
    filled = copy.deepcopy(template)
    for resource in filled["Resources"].values():
        if resource["Type"] == FUNCTION:
            resource["Properties"]["Code"] = {"S3Bucket": bucket, "S3Key": key}
    if snap_start:
        settings = hashlib.sha256(json.dumps([filled["Resources"], sorted(values.items())]).encode()).hexdigest()
        with_snap_start(filled, release=settings[:16])
    filled["Outputs"][RELEASE] = {
        "Description": "The version of Handoff and the code of the functions.",
        "Value": release_name(version, key) + (" snap-start" if snap_start else ""),
    }
    return filled


def release_name(version: str, key: str) -> str:
    return f"{version} {Path(key).stem[:12]}"


def as_text(template: Mapping[str, Any]) -> str:
    """Without white space: CloudFormation takes 1 MB, and equal templates are equal bytes."""
    return json.dumps(template, separators=(",", ":"))


def check_parameters(template: Mapping[str, Any], given: Mapping[str, str]) -> None:
    """Raise WrongUsage for the first value that CloudFormation would refuse, before anything is built or uploaded."""
    for name, value in given.items():
        known = template["Parameters"].get(name)
        if known is None:
            raise WrongUsage(
                f"The template has no parameter {name}. It has: {', '.join(sorted(template['Parameters']))}."
            )
        for problem in _problems(known, value):
            raise WrongUsage(f"{name} = {value!r} {problem}. {known.get('Description', '')}".rstrip())
        if re.search(r"://[^/\s\"]*@", value):
            raise WrongUsage(
                f"{name} has a user name or password in an address. A parameter can be read by others: leave it out."
            )


def _problems(known: Mapping[str, Any], value: str) -> Iterator[str]:
    if known["Type"] == "Number":
        try:
            number = float(value)
        except ValueError:
            yield "is not a number"
            return
        if number < known.get("MinValue", number):
            yield f"is less than {known['MinValue']}"
        if number > known.get("MaxValue", number):
            yield f"is more than {known['MaxValue']}"
    if (allowed := [str(one) for one in known.get("AllowedValues", ())]) and value not in allowed:
        yield f"is none of {', '.join(allowed)}"
    if (pattern := known.get("AllowedPattern")) and not re.search(pattern, value):
        yield "has another form than expected"


def values_of(template: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """Every parameter with the value that it was given, or its default."""
    return {name: given.get(name, str(known.get("Default", ""))) for name, known in template["Parameters"].items()}


def created(template: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The resources that exist with these parameters: those whose condition holds."""
    values, conditions = values_of(template, given), template.get("Conditions", {})
    return {
        name: resource
        for name, resource in template["Resources"].items()
        if "Condition" not in resource or _holds({"Condition": resource["Condition"]}, conditions, values)
    }


def _holds(expression: Any, conditions: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    ((function, operand),) = expression.items()
    match function:
        case "Condition":
            return _holds(conditions[operand], conditions, values)
        case "Fn::Equals":
            first, second = (values[one["Ref"]] if isinstance(one, dict) else str(one) for one in operand)
            return bool(first == second)
        case "Fn::Not":
            return not _holds(operand[0], conditions, values)
        case "Fn::And":
            return all(_holds(one, conditions, values) for one in operand)
        case "Fn::Or":
            return any(_holds(one, conditions, values) for one in operand)
    raise NotImplementedError(function)
