"""SnapStart: publishes a version of each function that a person waits for, and sends its events there."""

from typing import Any

FUNCTIONS = ("RequestFunction", "StatusFunction", "ProcessFunction", "TurnFunction", "AgentFunction", "WebhookFunction")
"""Not sweep: it runs every minute, so it is warm, and no person waits for it."""


def with_snap_start(template: dict[str, Any], *, release: str) -> None:
    """Change the template in place. `release` differs whenever the code or the settings of the functions do.

    A snapshot belongs to a published version, so events go to an alias of it.

    This is no parameter of the template: a parameter cannot change what the API, the mappings and the permissions name.
    """
    resources = template["Resources"]
    for resource in list(resources.values()):
        if resource["Type"] in ("AWS::Lambda::Permission", "AWS::Lambda::EventSourceMapping"):
            _to_alias(resource["Properties"])
        elif resource["Type"] == "AWS::ApiGatewayV2::Api":
            _integrations_to_alias(resource["Properties"]["Body"])
    for name in FUNCTIONS:
        resources[name]["Properties"]["SnapStart"] = {"ApplyOn": "PublishedVersions"}
        resources[f"{name}Version"] = {
            "Type": "AWS::Lambda::Version",
            # Another description replaces the version, which publishes one for the new code and removes the old snapshot.
            "Properties": {"FunctionName": {"Ref": name}, "Description": release},
        }
        resources[f"{name}Alias"] = {
            "Type": "AWS::Lambda::Alias",
            "Properties": {
                "Name": "live",
                "FunctionName": {"Ref": name},
                "FunctionVersion": {"Fn::GetAtt": [f"{name}Version", "Version"]},
            },
        }


def _to_alias(properties: dict[str, Any]) -> None:
    match properties["FunctionName"]:
        case {"Ref": str() as name} if name in FUNCTIONS:
            properties["FunctionName"] = {"Ref": f"{name}Alias"}


def _integrations_to_alias(body: dict[str, Any]) -> None:
    for methods in body["paths"].values():
        for operation in methods.values():
            uri = operation["x-amazon-apigateway-integration"]["uri"]
            for name in FUNCTIONS:
                uri["Fn::Sub"] = uri["Fn::Sub"].replace(f"${{{name}.Arn}}", f"${{{name}Alias}}")
