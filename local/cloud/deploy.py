"""Deploys a SAM template to an engine and describes the result as plain data."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.cloud import template
from local.cloud.deployed import Deployed, read_stack
from local.cloud.engine import Engine
from local.cloud.stack import REGION, Stack


class DeployError(RuntimeError):
    """moto's CloudFormation rejected the template."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(f"The local deploy ended with {status}: {reason}. Nothing runs; correct the template.")


def deploy(engine: Engine, path: Path, parameters: Mapping[str, str], *, name: str, cache: Path | None = None) -> Stack:
    """Create the stack. Raises UnknownResourceError before anything is created, DeployError if moto rejects the template."""
    translated = template.translate(path.read_text(), REGION, cache=cache)  # moto resolves the parameters
    return deploy_translated(engine, translated, parameters, name=name)


def deploy_translated(
    engine: Engine, translated: Mapping[str, Any], parameters: Mapping[str, str], *, name: str
) -> Stack:
    """Create the stack from CloudFormation instead of SAM. Raises as `deploy` does."""
    template.refuse_unknown(translated)
    outputs = _create(engine, name, template.for_moto(translated), parameters)
    deployed = _read(engine, name, translated, outputs)
    _fill_gaps(engine, deployed)
    return read_stack(deployed)


def _create(engine: Engine, name: str, body: Mapping[str, Any], parameters: Mapping[str, str]) -> dict[str, str]:
    """Create the stack and return its outputs."""
    client = engine.client("cloudformation")
    client.create_stack(
        StackName=name,
        TemplateBody=json.dumps(body),
        Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        Capabilities=["CAPABILITY_IAM"],
    )
    (stack,) = client.describe_stacks(StackName=name)["Stacks"]
    if stack["StackStatus"] != "CREATE_COMPLETE":
        raise DeployError(stack["StackStatus"], stack.get("StackStatusReason", "no reason given"))
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


def _read(engine: Engine, name: str, translated: Mapping[str, Any], outputs: Mapping[str, str]) -> Deployed:
    """Return every resource with its references resolved by moto, also those that moto did not create."""
    # Imported here because they import all of moto, which is slow before the patches are applied.
    from moto.cloudformation.models import cloudformation_backends  # noqa: PLC0415 - see above
    from moto.cloudformation.parsing import clean_json  # noqa: PLC0415 - see above

    stacks = cloudformation_backends[engine.account_id][REGION].stacks.values()
    (stack,) = (stack for stack in stacks if stack.name == name)
    scope = stack.resource_map
    ours = {one for one, resource in translated["Resources"].items() if resource["Type"] in template.NOT_IN_MOTO}
    resources = {
        one: (resource["Type"], clean_json(resource.get("Properties", {}), scope))
        for one, resource in template.without_references(translated["Resources"], ours).items()
        if "Condition" not in resource or scope.lazy_condition_map[resource["Condition"]]
    }
    physical = {one: one if one in ours else scope[one].physical_resource_id for one in resources}
    return Deployed(resources, physical, outputs)


def _fill_gaps(engine: Engine, deployed: Deployed) -> None:
    """Set the properties of tables that moto's CloudFormation ignores although it reports success."""
    dynamodb = engine.client("dynamodb")
    for name, properties in deployed.of_type("AWS::DynamoDB::Table"):
        table = deployed.physical[name]
        if ttl := properties.get("TimeToLiveSpecification"):
            dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification=_as_wire(ttl))
        if recovery := properties.get("PointInTimeRecoverySpecification"):
            dynamodb.update_continuous_backups(TableName=table, PointInTimeRecoverySpecification=_as_wire(recovery))


def _as_wire(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the strings that moto's CloudFormation makes of booleans back; its API requires booleans."""
    words = {"true": True, "false": False}
    return {key: words.get(str(value).lower(), value) for key, value in properties.items()}
