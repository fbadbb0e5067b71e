"""A deployed stack as plain data, for event sources and runtimes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

REGION = "us-east-1"
LAMBDA_RETRIES = 2
"""How often Lambda repeats a failed asynchronous call by default."""


@dataclass(frozen=True)
class FunctionConfig:
    """One Lambda function; references in its environment are resolved."""

    logical_id: str
    name: str
    handler: str
    timeout: float
    memory: int
    environment: Mapping[str, str]
    role_arn: str
    log_format: str = "Text"


@dataclass(frozen=True)
class Route:
    """One route of the HTTP API; `path` has placeholders, as in /things/{id}."""

    method: str
    path: str
    function: str


@dataclass(frozen=True)
class StreamMapping:
    """A table's stream as event source of a function. A record must match one of `filters`, if there are any.

    `max_retries` and `max_age_seconds` are -1 where Lambda retries until the record expires.
    """

    function: str
    stream_arn: str
    batch_size: int
    window_seconds: float
    filters: tuple[Mapping[str, Any], ...]
    max_retries: int
    max_age_seconds: int
    bisect: bool
    parallelization: int
    partial_failures: bool
    on_failure_queue_url: str | None
    starting_position: str


@dataclass(frozen=True)
class QueueMapping:
    """A queue as event source of a function."""

    function: str
    queue_url: str
    queue_arn: str
    batch_size: int
    partial_failures: bool
    max_concurrency: int | None


@dataclass(frozen=True)
class Schedule:
    """A function that is invoked at a fixed rate with a fixed payload; a failed call is repeated `retries` times."""

    function: str
    rate_seconds: float
    payload: Mapping[str, Any]
    retries: int = LAMBDA_RETRIES


@dataclass(frozen=True)
class Stack:
    """A deployed stack. Functions are named by logical id; `resources` maps logical to physical ids."""

    functions: Mapping[str, FunctionConfig]
    routes: tuple[Route, ...]
    streams: tuple[StreamMapping, ...]
    queues: tuple[QueueMapping, ...]
    schedules: tuple[Schedule, ...]
    outputs: Mapping[str, str]
    resources: Mapping[str, str]
