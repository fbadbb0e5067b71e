"""A session of boto3 with given clients, for programs that need no whole account."""

from collections.abc import Mapping
from typing import Any

from local.operate.deploy import template

STACK_ID = "arn:aws:cloudformation:us-east-1:123456789012:stack/handoff/1"


class Stacks:
    """A CloudFormation with one stack of Handoff, which has these outputs."""

    def __init__(self, outputs: Mapping[str, str]) -> None:
        self._outputs = [{"OutputKey": name, "OutputValue": value} for name, value in outputs.items()]

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803  # as boto3 calls it
        assert StackName == "handoff"
        found = {"StackId": STACK_ID, "StackName": "handoff", "StackStatus": "CREATE_COMPLETE"}
        return {"Stacks": [{**found, "Outputs": self._outputs}]}

    def get_template(self, **_: str) -> dict[str, Any]:
        return {"TemplateBody": template.load()}


class _Sts:
    def get_caller_identity(self) -> dict[str, str]:
        return {"Account": "123456789012", "Arn": "arn:aws:iam::123456789012:user/anna"}


class Session:
    """Signed in to us-east-1."""

    region_name = "us-east-1"

    def __init__(self, **clients: Any) -> None:
        self._clients = {"sts": _Sts(), **clients}

    def client(self, service: str, **_: Any) -> Any:
        return self._clients[service]
