"""Costs of a deployment, calculated from its template and from what one handoff was counted to need."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from local.operate.deploy import prices
from local.operate.deploy.snap_start import FUNCTIONS

MONTH_MINUTES = 43_200
# Counted by tests/contracts/store/test_cost.py, which compares with these.
HANDOFF_WRITE_UNITS = 42
HANDOFF_READS = 11
MESSAGE_WRITE_UNITS = 24
IDLE_SWEEP_QUERIES = 8
# Estimates: how often Lambda polls an empty queue, DynamoDB calls KMS, and how long the functions of a handoff run.
POLLS_A_MINUTE = 15
KMS_CALLS_A_MINUTE = 0.2
HANDOFF_RUNS = 6
HANDOFF_SECONDS = 2.0
HANDOFF_REQUESTS = 4
HANDOFF_MESSAGES = 3
QUEUE_REQUESTS_A_MESSAGE = 3  # send, receive, delete
HANDOFF_LOG_KB = 6
SWEEP_SECONDS = 0.1
FUNCTION_GB = 1.0


@dataclass(frozen=True)
class Item:
    """One line of the bill, in dollars."""

    what: str
    amount: float


def idle(resources: Mapping[str, Mapping[str, Any]], *, snap_start: bool) -> list[Item]:
    """A month in which it is not used. `resources` are those that exist; the free tier is left out."""
    return [item for item in _idle(resources, snap_start=snap_start) if item.amount > 0]


def _idle(resources: Mapping[str, Mapping[str, Any]], *, snap_start: bool) -> Iterator[Item]:
    kinds = [resource["Type"] for resource in resources.values()]
    metrics = sum(_metrics(one["Properties"]) for one in resources.values() if one["Type"] == "AWS::CloudWatch::Alarm")
    queues = [
        one
        for one in resources.values()
        if one["Type"] == "AWS::Lambda::EventSourceMapping" and "Queue" in str(one["Properties"]["EventSourceArn"])
    ]
    tables, sweep = kinds.count("AWS::DynamoDB::Table"), kinds.count("AWS::Scheduler::Schedule") * MONTH_MINUTES
    yield Item(f"{metrics} metrics with alarms", metrics * prices.ALARM_METRIC)
    yield Item("dashboard", kinds.count("AWS::CloudWatch::Dashboard") * prices.DASHBOARD)
    polls = len(queues) * POLLS_A_MINUTE * MONTH_MINUTES
    yield Item("queues, which Lambda polls", polls * prices.QUEUE_REQUEST)
    memory = resources["SweepFunction"]["Properties"]["MemorySize"] / 1024
    run = SWEEP_SECONDS * memory * prices.LAMBDA_GB_SECOND + prices.LAMBDA_REQUEST
    asked = IDLE_SWEEP_QUERIES * 0.5 * prices.READ_UNIT
    yield Item("sweep, each minute", sweep * (run + asked + prices.SCHEDULE + prices.QUEUE_REQUEST))
    yield Item("encryption of the tables", tables * KMS_CALLS_A_MINUTE * MONTH_MINUTES * prices.KMS_REQUEST)
    yield Item("logs", sweep / prices.MILLION * prices.LOG_GB)
    if snap_start:
        seconds = MONTH_MINUTES * 60
        yield Item("SnapStart, kept snapshots", len(FUNCTIONS) * FUNCTION_GB * seconds * prices.SNAPSHOT_GB_SECOND)


def thousand_handoffs() -> list[Item]:
    """Without the agent, and without the answers to further messages."""
    thousand = 1000
    requests = thousand * HANDOFF_REQUESTS * prices.HTTP_API_REQUEST
    runs = thousand * (HANDOFF_SECONDS * FUNCTION_GB * prices.LAMBDA_GB_SECOND + HANDOFF_RUNS * prices.LAMBDA_REQUEST)
    data = thousand * (HANDOFF_WRITE_UNITS * prices.WRITE_UNIT + HANDOFF_READS * prices.READ_UNIT)
    queued = thousand * HANDOFF_MESSAGES * QUEUE_REQUESTS_A_MESSAGE * prices.QUEUE_REQUEST
    return [
        Item("requests", requests),
        Item("functions", runs),
        Item("tables", data),
        Item("queues", queued),
        Item("logs", thousand * HANDOFF_LOG_KB / prices.MILLION * prices.LOG_GB),
    ]


def lines(resources: Mapping[str, Mapping[str, Any]], *, snap_start: bool) -> Iterator[str]:
    """For people."""
    month, used = idle(resources, snap_start=snap_start), thousand_handoffs()
    yield f"A month without use: about ${_sum(month):.2f}"
    yield from (f"  ${item.amount:6.2f}  {item.what}" for item in month)
    yield f"1,000 handoffs: about ${_sum(used):.2f}, besides the agent"
    yield from (f"  ${item.amount:6.2f}  {item.what}" for item in used)
    yield f"Calculated with the prices of {prices.REGION} as of {prices.AS_OF}, which were not checked live."
    yield "The free tier, stored data and traffic are left out."


def _sum(items: list[Item]) -> float:
    return sum(item.amount for item in items)


def _metrics(alarm: Mapping[str, Any]) -> int:
    return sum("MetricStat" in one for one in alarm.get("Metrics", ())) or 1
