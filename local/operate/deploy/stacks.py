"""A stack: what it is like now, and following what AWS does with it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from local.operate.deploy.problems import NETWORK, THROTTLED, Stopped, code_of

REVIEW = "REVIEW_IN_PROGRESS"
NEVER_CREATED = frozenset({"ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED"})
"""Its creation failed. CloudFormation can only delete such a stack."""
TAG, OURS = "application", "handoff"
STACK = "AWS::CloudFormation::Stack"
PATIENCE = 600.0
"""Seconds without a connection after which following ends; AWS goes on."""
LONGEST_INTERVAL = 3.0
_CONSEQUENCES = ("Resource creation cancelled", "Resource update cancelled")


@dataclass(frozen=True)
class StackState:
    """A stack as CloudFormation describes it."""

    id: str
    name: str
    status: str
    parameters: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def is_busy(self) -> bool:
        return self.status.endswith("_IN_PROGRESS") and self.status != REVIEW


@dataclass(frozen=True)
class Event:
    """One line of progress."""

    id: str
    resource: str
    kind: str
    physical: str
    status: str
    reason: str

    @property
    def is_failure(self) -> bool:
        return self.status.endswith("_FAILED") and not self.reason.startswith(_CONSEQUENCES)


def describe(client: Any, name: str) -> StackState | None:
    """The stack with this name or id, or None."""
    try:
        (found,) = client.describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if code_of(error) == "ValidationError" and "does not exist" in str(error):
            return None
        raise
    return StackState(
        found["StackId"],
        found["StackName"],
        found["StackStatus"],
        {one["ParameterKey"]: one.get("ParameterValue", "") for one in found.get("Parameters", ())},
        {one["OutputKey"]: one["OutputValue"] for one in found.get("Outputs", ())},
        found.get("StackStatusReason", ""),
        {one["Key"]: one["Value"] for one in found.get("Tags", ())},
    )


@dataclass
class Follower:
    """Shows the events of a stack from the moment in which it is made, until the stack comes to rest.

    Make it before the change is started, so that no event is missed.
    """

    client: Any
    stack_id: str
    show: Callable[[Event], None]
    say: Callable[[str], None]
    sleep: Callable[[float], None]
    interval: float = 0.2
    clock: Callable[[], float] = time.monotonic
    failures: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._seen = {event.id for event in self._events()}

    def follow(self, *, is_running: bool = False) -> str:
        """Return the status in which the stack came to rest. `is_running`: the change was started earlier.

        A lost connection is waited out. Raises Stopped after a long time without one.
        """
        lost_since: float | None = None
        while True:
            try:
                end = self._next_events()
                if end is None and is_running:
                    end = self._at_rest()
                lost_since = None
            except (*NETWORK, ClientError) as error:
                if isinstance(error, ClientError) and code_of(error) not in THROTTLED:
                    raise
                if lost_since is None:
                    lost_since = self.clock()
                    self.say(f"No answer from AWS ({type(error).__name__}); it goes on there. Asking again ...")
                if self.clock() - lost_since > PATIENCE:
                    raise Stopped(
                        "AWS cannot be reached. It goes on there: repeat the command later, and it follows."
                    ) from error
                end = None
            if end is not None:
                return end
            self.sleep(self.interval)
            self.interval = min(self.interval * 1.5, LONGEST_INTERVAL)

    def _next_events(self) -> str | None:
        """Show what is new; the final status of the stack if it is among it."""
        end = None
        for event in self._events():
            if event.id in self._seen:
                continue
            self._seen.add(event.id)
            self.show(event)
            if event.is_failure and event.kind != STACK:
                self.failures.append(event)
            if event.physical == self.stack_id and not event.status.endswith("_IN_PROGRESS"):
                end = event.status
        return end

    def _at_rest(self) -> str | None:
        found = describe(self.client, self.stack_id)
        return None if found is None or found.is_busy else found.status

    def _events(self) -> list[Event]:
        """Oldest first."""
        return list(reversed(list(self._newest_first())))

    def _newest_first(self) -> Iterator[Event]:
        more: dict[str, str] = {}
        while True:
            page = self.client.describe_stack_events(StackName=self.stack_id, **more)
            for one in page["StackEvents"]:
                yield Event(
                    one["EventId"],
                    one.get("LogicalResourceId", ""),
                    one.get("ResourceType", ""),
                    one.get("PhysicalResourceId", ""),
                    one.get("ResourceStatus", ""),
                    one.get("ResourceStatusReason", ""),
                )
            if not page.get("NextToken") or self._is_known(page):
                return
            more = {"NextToken": page["NextToken"]}

    def _is_known(self, page: Any) -> bool:
        """The rest of the pages is older than what was seen."""
        return hasattr(self, "_seen") and page["StackEvents"][-1]["EventId"] in self._seen
