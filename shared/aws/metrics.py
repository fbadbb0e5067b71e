"""Metrics as log lines in CloudWatch's embedded metric format: no call, no library, no grant."""

import json
import sys
from collections.abc import Callable
from typing import Any

from shared.ports.clock import Clock
from shared.ports.metrics import Metric

NAMESPACE = "Handoff"
DIMENSION = "Stack"
"""The only dimension: each combination of dimensions is a metric that is billed."""


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")  # in one write, because threads print too
    sys.stdout.flush()


class EmbeddedMetrics:
    """The `Metrics` port. One JSON line for each `put`, from which CloudWatch takes the numbers."""

    def __init__(self, stack: str, clock: Clock, write: Callable[[str], None] = _print) -> None:
        self._stack = stack
        self._clock = clock
        self._write = write

    def put(self, *values: tuple[Metric, float], **about: str | int) -> None:
        described = [{"Name": metric, "Unit": "Seconds" if metric.is_time else "Count"} for metric, _ in values]
        directive = {"Namespace": NAMESPACE, "Dimensions": [[DIMENSION]], "Metrics": described}
        line: dict[str, Any] = {
            "_aws": {"Timestamp": self._clock.now(), "CloudWatchMetrics": [directive]},
            DIMENSION: self._stack,
            **{metric.value: value for metric, value in values},
            **about,
        }
        self._write(json.dumps(line))
