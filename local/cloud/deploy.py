"""Deploys template.yaml to an engine, and says as plain data what came of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.cloud import template
from local.cloud.deployed import Deployed, read_stack
from local.cloud.engine import Engine
from local.cloud.stack import Stack

STACK = "handoff"


class DeployError(RuntimeError):
    """moto refused the template."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(
            f"The local deploy of template.yaml ended as {status}: {reason}. Nothing runs; mend the template."
        )


def deploy(
    engine: Engine, template_path: Path = template.TEMPLATE, parameters: Mapping[str, str] | None = None
) -> Stack:
    """Create everything that the template has. Raises on a type nobody stands for, before anything is created."""
    given = {name: str(value) for name, value in (parameters or {}).items()}
    translated = template.translate(template_path.read_text(), {}, engine.region)  # moto fills the parameters in
    template.refuse_unknown(translated)
    outputs = _create(engine, template.for_moto(translated), given)
    deployed = _read(engine, translated, outputs)
    _fill_gaps(engine, deployed)
    return read_stack(deployed)


def _create(engine: Engine, body: Mapping[str, Any], parameters: Mapping[str, str]) -> dict[str, str]:
    """Create the stack and return its outputs."""
    client = engine.client("cloudformation")
    client.create_stack(
        StackName=STACK,
        TemplateBody=json.dumps(body),
        Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        Capabilities=["CAPABILITY_IAM"],
    )
    (stack,) = client.describe_stacks(StackName=STACK)["Stacks"]
    if stack["StackStatus"] != "CREATE_COMPLETE":
        raise DeployError(stack["StackStatus"], stack.get("StackStatusReason", "no reason given"))
    return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}


def _read(engine: Engine, translated: Mapping[str, Any], outputs: Mapping[str, str]) -> Deployed:
    """Every resource's properties with all references resolved by moto, also of those that moto does not have."""
    # Here, because these bring in all of moto (a second): `families.apply` makes that quicker, and must come first.
    from moto.cloudformation.models import cloudformation_backends  # noqa: PLC0415 - see above
    from moto.cloudformation.parsing import clean_json  # noqa: PLC0415 - see above

    stacks = cloudformation_backends[engine.account_id][engine.region].stacks.values()
    (stack,) = (stack for stack in stacks if stack.name == STACK)
    scope = stack.resource_map
    names = {name for name, resource in translated["Resources"].items() if resource["Type"] in template.IN_LOCAL}
    resources = template.without_references(translated["Resources"], names)
    wanted = {
        name: (resource["Type"], clean_json(resource.get("Properties", {}), scope))
        for name, resource in resources.items()
        if "Condition" not in resource or scope.lazy_condition_map[resource["Condition"]]
    }
    physical = {name: scope[name].physical_resource_id for name in wanted if name not in names} | {
        name: name for name in names
    }
    return Deployed(wanted, physical, outputs)


def _fill_gaps(engine: Engine, deployed: Deployed) -> None:
    """What moto's CloudFormation leaves out of a table although it reports success."""
    dynamodb = engine.client("dynamodb")
    for name, properties in deployed.of_type("AWS::DynamoDB::Table"):
        table = deployed.physical[name]
        if ttl := properties.get("TimeToLiveSpecification"):
            dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification=_as_wire(ttl))
        if recovery := properties.get("PointInTimeRecoverySpecification"):
            dynamodb.update_continuous_backups(TableName=table, PointInTimeRecoverySpecification=_as_wire(recovery))


def _as_wire(properties: Mapping[str, Any]) -> dict[str, Any]:
    """moto resolves booleans into strings; its API wants booleans."""
    words = {"true": True, "false": False}
    return {key: words.get(str(value).lower(), value) for key, value in properties.items()}
