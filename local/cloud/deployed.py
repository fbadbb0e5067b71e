"""Converts the resources of a deployed stack to the plain data of stack.py."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from local.cloud.stack import LAMBDA_RETRIES, FunctionConfig, QueueMapping, Route, Schedule, Stack, StreamMapping

ANY_METHOD = "x-amazon-apigateway-any-method"  # SAM's name for ANY in OpenAPI
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}


class UnreadableScheduleError(ValueError):
    """A schedule that is not a rate."""

    def __init__(self, expression: str) -> None:
        super().__init__(
            f"The local cloud supports rates such as rate(1 minute), not {expression!r}. Nothing was started."
        )


@dataclass(frozen=True)
class Deployed:
    """The resources of the template with resolved references: logical id to (type, properties), and to physical id."""

    resources: Mapping[str, tuple[str, Mapping[str, Any]]]
    physical: Mapping[str, str]
    outputs: Mapping[str, str]

    def of_type(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        return ((name, properties) for name, (type_, properties) in self.resources.items() if type_ == kind)

    def function(self, reference: str) -> str:
        """Return the logical id of a function, given its name, its ARN or a URI with its ARN."""
        for name, _ in self.of_type("AWS::Lambda::Function"):
            if re.search(rf"(^|:){re.escape(self.physical[name])}($|/)", reference):
                return name
        raise LookupError(f"The template has no function {reference}.")

    def queue_url(self, arn: str) -> str:
        """Return the URL of the queue with this ARN."""
        for name, _ in self.of_type("AWS::SQS::Queue"):
            if self.physical[name].rpartition("/")[2] == arn.rpartition(":")[2]:
                return self.physical[name]
        raise LookupError(f"The template has no queue {arn}.")


def read_stack(deployed: Deployed) -> Stack:
    """Return the stack as event sources and runtimes use it."""
    mappings = [properties for _, properties in deployed.of_type("AWS::Lambda::EventSourceMapping")]
    streams = [mapping for mapping in mappings if ":dynamodb:" in mapping["EventSourceArn"]]
    queues = [mapping for mapping in mappings if ":sqs:" in mapping["EventSourceArn"]]
    return Stack(
        functions=_functions(deployed),
        routes=tuple(_routes(deployed)),
        streams=tuple(_stream(deployed, mapping) for mapping in streams),
        queues=tuple(_queue(deployed, mapping) for mapping in queues),
        schedules=tuple(
            _schedule(deployed, properties) for _, properties in deployed.of_type("AWS::Scheduler::Schedule")
        ),
        outputs=dict(deployed.outputs),
        resources=dict(deployed.physical),
    )


def _functions(deployed: Deployed) -> dict[str, FunctionConfig]:
    return {
        name: FunctionConfig(
            logical_id=name,
            name=deployed.physical[name],
            handler=function["Handler"],
            timeout=float(function.get("Timeout", 3)),
            memory=int(function.get("MemorySize", 128)),
            environment={
                key: str(value) for key, value in function.get("Environment", {}).get("Variables", {}).items()
            },
            role_arn=function["Role"],
            log_format=function.get("LoggingConfig", {}).get("LogFormat", "Text"),
        )
        for name, function in deployed.of_type("AWS::Lambda::Function")
    }


def _routes(deployed: Deployed) -> Iterator[Route]:
    for _, api in deployed.of_type("AWS::ApiGatewayV2::Api"):
        for path, methods in api["Body"]["paths"].items():
            for method, operation in methods.items():
                uri = operation["x-amazon-apigateway-integration"]["uri"]
                yield Route("ANY" if method == ANY_METHOD else method.upper(), path, deployed.function(uri))


def _stream(deployed: Deployed, mapping: Mapping[str, Any]) -> StreamMapping:
    on_failure = mapping.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
    return StreamMapping(
        function=deployed.function(mapping["FunctionName"]),
        stream_arn=mapping["EventSourceArn"],
        batch_size=int(mapping.get("BatchSize", 100)),
        window_seconds=float(mapping.get("MaximumBatchingWindowInSeconds", 0)),
        filters=tuple(json.loads(f["Pattern"]) for f in mapping.get("FilterCriteria", {}).get("Filters", [])),
        max_retries=int(mapping.get("MaximumRetryAttempts", -1)),
        max_age_seconds=int(mapping.get("MaximumRecordAgeInSeconds", -1)),
        bisect=str(mapping.get("BisectBatchOnFunctionError")).lower() == "true",
        parallelization=int(mapping.get("ParallelizationFactor", 1)),
        partial_failures=_reports_failures(mapping),
        on_failure_queue_url=deployed.queue_url(on_failure) if on_failure else None,
        starting_position=mapping["StartingPosition"],
    )


def _queue(deployed: Deployed, mapping: Mapping[str, Any]) -> QueueMapping:
    limit = mapping.get("ScalingConfig", {}).get("MaximumConcurrency")
    return QueueMapping(
        function=deployed.function(mapping["FunctionName"]),
        queue_url=deployed.queue_url(mapping["EventSourceArn"]),
        queue_arn=mapping["EventSourceArn"],
        batch_size=int(mapping.get("BatchSize", 10)),
        partial_failures=_reports_failures(mapping),
        max_concurrency=int(limit) if limit is not None else None,
    )


def _schedule(deployed: Deployed, properties: Mapping[str, Any]) -> Schedule:
    target = properties["Target"]
    function = deployed.function(target["Arn"])
    return Schedule(
        function=function,
        rate_seconds=_rate(properties["ScheduleExpression"]),
        payload=json.loads(target.get("Input", "{}")),
        retries=_retries(deployed, function),
    )


def _retries(deployed: Deployed, function: str) -> int:
    """Return how often a failed asynchronous call of the function is repeated."""
    for _, config in deployed.of_type("AWS::Lambda::EventInvokeConfig"):
        if deployed.function(config["FunctionName"]) == function:
            return int(config.get("MaximumRetryAttempts", LAMBDA_RETRIES))
    return LAMBDA_RETRIES


def _rate(expression: str) -> float:
    found = re.fullmatch(r"rate\((\d+) (second|minute|hour|day)s?\)", expression)
    if found is None:
        raise UnreadableScheduleError(expression)
    return float(int(found[1]) * SECONDS[found[2]])


def _reports_failures(mapping: Mapping[str, Any]) -> bool:
    return "ReportBatchItemFailures" in mapping.get("FunctionResponseTypes", [])
