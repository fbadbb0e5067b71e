"""Start-up: services that template.yaml cannot contain are hollow.

moto's CloudFormation imports every service that it could create. EC2 alone parses a thousand machine types; a third
of the whole start goes into services that local/cloud/template.py would refuse anyway. Their modules are found, import as
usual, and hold nothing: whoever really used one would get an AttributeError or an empty class, at once.
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

NAMES = (
    *("apigateway", "autoscaling", "batch", "cloudwatch", "datapipeline", "ec2", "ecs", "efs", "elb", "elbv2", "emr"),
    *("iot", "kinesis", "rds", "redshift", "route53", "sagemaker", "stepfunctions"),
)
SERVICES = frozenset(f"moto.{name}" for name in NAMES)


class Hollow(ModuleType):
    """A module that has every name, and nothing behind any of them."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class HollowFinder(MetaPathFinder, Loader):
    """Answers for the unused services before Python looks for their files."""

    def find_spec(self, fullname: str, *_: Sequence[str] | ModuleType | None) -> ModuleSpec | None:
        is_unused = ".".join(fullname.split(".")[:2]) in SERVICES
        return ModuleSpec(fullname, self, is_package=True) if is_unused else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Hollow(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute."""


def apply() -> None:
    sys.meta_path.insert(0, HollowFinder())
