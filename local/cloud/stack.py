"""What a deploy of template.yaml made, as plain data: event sources and runtimes read this and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FunctionConfig:
    """One Lambda function as deployed; every reference in its environment is resolved."""

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
    """One route of the HTTP API; `path` has the API's own placeholders, as in /handoffs/{id}."""

    method: str
    path: str
    function: str


@dataclass(frozen=True)
class StreamMapping:
    """A table's stream feeding a function; `filters` are the parsed patterns, any one of which lets a record pass.

    `max_retries` and `max_age_seconds` are -1 where Lambda would try for as long as the record lives.
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
    """A queue feeding a function; whether it is FIFO shows in its URL."""

    function: str
    queue_url: str
    queue_arn: str
    batch_size: int
    partial_failures: bool
    max_concurrency: int | None


@dataclass(frozen=True)
class Schedule:
    """A function woken at a fixed rate with a fixed payload."""

    function: str
    rate_seconds: float
    payload: Mapping[str, Any]


@dataclass(frozen=True)
class Stack:
    """The whole deployed stack. Functions are known by logical id; `resources` maps logical to physical ids."""

    functions: Mapping[str, FunctionConfig]
    routes: tuple[Route, ...]
    streams: tuple[StreamMapping, ...]
    queues: tuple[QueueMapping, ...]
    schedules: tuple[Schedule, ...]
    outputs: Mapping[str, str]
    resources: Mapping[str, str]
