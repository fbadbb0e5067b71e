"""Numbers about the service, for its operator."""

from enum import StrEnum
from typing import Protocol


class Metric(StrEnum):
    """Every metric. Those that begin with UNTIL, and AGENT_SECONDS, are seconds; the others count."""

    HANDOFFS_COMPLETED = "HandoffsCompleted"
    HANDOFFS_FAILED = "HandoffsFailed"
    HANDOFFS_CANCELLED = "HandoffsCancelled"
    UNTIL_THREAD = "UntilThread"
    UNTIL_CONFIRMED = "UntilConfirmed"
    UNTIL_COMPLETED = "UntilCompleted"
    TURNS = "Turns"
    TURNS_FAILED = "TurnsFailed"
    TURNS_CANCELLED = "TurnsCancelled"
    AGENT_SECONDS = "AgentSeconds"
    DELIVERIES = "Deliveries"
    DELIVERIES_DELAYED = "DeliveriesDelayed"
    DELIVERIES_REJECTED = "DeliveriesRejected"
    FILES_UNREAD = "FilesUnread"
    REQUESTS_REFUSED = "RequestsRefused"
    REQUESTS_FAILED = "RequestsFailed"

    @property
    def is_time(self) -> bool:
        return self.value.startswith("Until") or self is Metric.AGENT_SECONDS


class Metrics(Protocol):
    """Takes measurements. Never raises, and never waits for a network."""

    def put(self, *values: tuple[Metric, float], **about: str | int) -> None:
        """Note values that belong together. `about` are words for searching: a platform or a code.

        No text of a chat and no id of a person, session or handoff.
        """


class NoMetrics:
    """Discards everything."""

    def put(self, *values: tuple[Metric, float], **about: str | int) -> None:
        """Do nothing."""
