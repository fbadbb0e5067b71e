"""Metrics as CloudWatch reads them from a log line."""

import json

from shared.aws.metrics import EmbeddedMetrics
from shared.ports.metrics import Metric
from tests.support.fake_queue import ManualClock


def test_a_line_follows_the_embedded_metric_format() -> None:
    lines: list[str] = []
    clock = ManualClock()
    metrics = EmbeddedMetrics("prod", clock, lines.append)

    metrics.put((Metric.HANDOFFS_COMPLETED, 1), (Metric.UNTIL_THREAD, 0.25), platform="telegram")

    (line,) = lines
    assert "\n" not in line
    assert json.loads(line) == {
        "_aws": {
            "Timestamp": clock.now(),
            "CloudWatchMetrics": [
                {
                    "Namespace": "Handoff",
                    "Dimensions": [["Stack"]],
                    "Metrics": [
                        {"Name": "HandoffsCompleted", "Unit": "Count"},
                        {"Name": "UntilThread", "Unit": "Seconds"},
                    ],
                }
            ],
        },
        "Stack": "prod",
        "HandoffsCompleted": 1,
        "UntilThread": 0.25,
        "platform": "telegram",
    }
