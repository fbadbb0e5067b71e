"""Reads a deployed stack: what becomes of the API's routes."""

from typing import Any

from local.cloud.deployed import Deployed, read_stack
from local.cloud.stack import Route

FUNCTION = {"Handler": "app.handler", "Timeout": 3, "MemorySize": 128, "Role": "arn:aws:iam::1:role/r"}
SETTINGS = {"Environment": {"Variables": {}}, "LoggingConfig": {"LogFormat": "JSON"}}
INTEGRATION = {"x-amazon-apigateway-integration": {"uri": "arn:aws:lambda:us-east-1:1:function:f-1/invocations"}}


def test_any_method_and_greedy_path_become_routes() -> None:
    paths = {
        "/hooks/{name}/{rest+}": {"x-amazon-apigateway-any-method": INTEGRATION},
        "/hooks/{name}": {"get": INTEGRATION},
    }
    resources: dict[str, tuple[str, dict[str, Any]]] = {
        "Function": ("AWS::Lambda::Function", {**FUNCTION, **SETTINGS}),
        "Api": ("AWS::ApiGatewayV2::Api", {"Body": {"paths": paths}}),
    }
    stack = read_stack(Deployed(resources, {"Function": "f-1", "Api": "Api"}, {}))
    assert stack.routes == (
        Route("ANY", "/hooks/{name}/{rest+}", "Function"),
        Route("GET", "/hooks/{name}", "Function"),
    )
