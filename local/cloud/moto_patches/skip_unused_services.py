"""Speeds up the start: replaces moto services that cannot be deployed here by empty modules.

moto.cloudformation imports every service that it can create; EC2 alone parses a thousand instance types. A third of the
start goes into services that local/cloud/template.py rejects. The replacements have every name, each an empty class, so
code that used one would fail at once.
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


class EmptyModule(ModuleType):
    """A module that has every name; each is an empty class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class EmptyModuleFinder(MetaPathFinder, Loader):
    """Finds the unused services before Python looks for their files."""

    def find_spec(self, fullname: str, *_: Sequence[str] | ModuleType | None) -> ModuleSpec | None:
        is_unused = ".".join(fullname.split(".")[:2]) in SERVICES
        return ModuleSpec(fullname, self, is_package=True) if is_unused else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return EmptyModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing."""


def apply() -> None:
    sys.meta_path.insert(0, EmptyModuleFinder())
