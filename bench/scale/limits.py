"""What the template and AWS allow, and what each platform: the capacity of each resource for a load."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bench.scale.units import FILE, HANDOFF, MESSAGE, SHOWN, Units, run_seconds
from local.operate.deploy.template import load
from shared.domain.progress import SHOW_EVERY
from shared.store.due import DUE_SHARDS

PARTITION_WRITES = 1_000
"""Write units per second of one partition of DynamoDB, or of one key of an index."""
TABLE_QUOTA = 40_000
"""Write units per second of one table on demand, unless AWS raises it; that of an account is twice it."""
FIFO_SENDS = 70_000
"""Messages per second and action of a FIFO queue whose limit is per group, in the large regions."""
GATEWAY_RATE = 10_000
S3_PUTS = 3_500
"""Per second and prefix, as if all files had the same."""
TELEGRAM_POSTS = 30
"""Per second, of one bot over all chats."""


@dataclass(frozen=True)
class Load:
    """Of a second. `agent` are the seconds of one answer, of which `own` is the share that users' own machines give."""

    handoffs: float
    messages: float
    files: float
    agent: float = 20.0
    own: float = 0.0

    def total(self, of: Callable[[Units], float]) -> float:
        """Of all units together, with the updates of progress."""
        updates = (self.handoffs + self.messages) * (1 + self.agent * 1000 / SHOW_EVERY)
        parts = ((HANDOFF, self.handoffs), (MESSAGE, self.messages), (SHOWN, updates), (FILE, self.files))
        return sum(count * of(units) for units, count in parts)

    def busy(self, function: str) -> float:
        """How many runs of a function are alive at one moment."""
        agent = self.agent * (1 - self.own)
        return self.total(
            lambda units: run_seconds(units, agent=0 if units is FILE else agent).get(function, 0.0)
        )  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """The template as it is, with parameters that are set; `concurrency` is the account's quota, `stacks` share the load."""

    template: Mapping[str, Any] = field(default_factory=load)
    given: Mapping[str, float] = field(default_factory=dict)
    concurrency: int = 1_000
    stacks: int = 1

    def value(self, name: str) -> float:
        return float(self.given.get(name, self.template["Parameters"][name]["Default"]))

    def batch(self, function: str) -> int:
        sources = [
            one["Properties"]
            for one in self.template["Resources"].values()
            if one["Type"] == "AWS::Lambda::EventSourceMapping"
        ]
        (found,) = [each["BatchSize"] for each in sources if each["FunctionName"] == {"Ref": function}]
        return int(found)


@dataclass(frozen=True)
class Limit:
    """A resource: what a load needs of it, what it has, who sets that, and what happens to what is more."""

    name: str
    needs: float
    has: float
    set_by: str
    beyond: Literal["waits", "refused"]

    @property
    def use(self) -> float:
        return self.needs / self.has


def limits(load: Load, settings: Settings) -> Iterator[Limit]:
    """Of one stack, which has its part of the load."""
    part = 1 / settings.stacks
    load = Load(load.handoffs * part, load.messages * part, load.files * part, load.agent, load.own)
    value = settings.value
    handoffs = load.handoffs * HANDOFF.writes
    sessions = load.total(lambda units: units.writes) - handoffs / 2
    functions = ("request", "status", "webhook", "process", "turn", "agent")
    shards = max(1, math.ceil(handoffs / 2 / PARTITION_WRITES))
    batch = run_seconds(HANDOFF, agent=0)["process"]
    yield Limit("posts of one bot (Telegram)", load.total(lambda u: u.posts), TELEGRAM_POSTS, "the platform", "waits")
    yield Limit("webhooks a second", load.messages, value("OpenRouteRate"), "OpenRouteRate", "refused")
    yield Limit(
        "requests a second to one route", load.handoffs * 3, value("ClosedRouteRate"), "ClosedRouteRate", "refused"
    )
    yield Limit(
        "requests a second to the API", load.total(lambda u: u.http), GATEWAY_RATE, "AWS, per account", "refused"
    )
    yield Limit(
        "turns of the agent at once", load.busy("agent"), value("MaxConcurrentTurns"), "MaxConcurrentTurns", "waits"
    )
    yield Limit(
        "places served at once", load.busy("turn"), value("MaxConcurrentPlaces"), "MaxConcurrentPlaces", "waits"
    )
    room = shards * value("ParallelHandoffs") * settings.batch("ProcessFunction") / batch
    yield Limit("new handoffs a second, by the stream", load.handoffs, room, "ParallelHandoffs", "waits")
    busy = sum(load.busy(name) for name in functions)
    yield Limit("functions at once", busy, settings.concurrency * part, "AWS, per account", "waits")
    yield Limit("write units a second, sessions", sessions, value("MaxTableWrites"), "MaxTableWrites", "refused")
    yield Limit("write units a second, one table", sessions, TABLE_QUOTA, "AWS, per table", "refused")
    reads = load.total(lambda units: units.reads)
    yield Limit("read units a second, sessions", reads, value("MaxTableReads"), "MaxTableReads", "refused")
    due = load.total(lambda units: units.due)
    yield Limit("writes to the index of what is due", due, DUE_SHARDS * PARTITION_WRITES, "DUE_SHARDS", "refused")
    yield Limit("messages to the FIFO queue", load.total(lambda u: u.sends), FIFO_SENDS, "AWS, per queue", "refused")
    yield Limit("objects a second, one prefix", load.total(lambda u: u.objects), S3_PUTS, "AWS, per prefix", "refused")
