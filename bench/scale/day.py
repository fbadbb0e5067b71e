"""A day in virtual time: the load of each minute, what waits behind each limit, and what is refused."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bench.scale.limits import Limit, Load, Settings, limits
from bench.scale.units import BILLED_MEMORY, FILE, HANDOFF, MESSAGE, run_seconds
from local.operate.deploy import cost, prices

DAY, STEP = 86_400, 60
HOURS = (
    0.3,
    0.2,
    0.2,
    0.2,
    0.3,
    0.4,
    0.6,
    1.0,
    1.6,
    2.0,
    2.2,
    2.1,
    1.6,
    1.9,
    2.2,
    2.2,
    2.0,
    1.6,
    1.2,
    1.0,
    0.9,
    0.7,
    0.5,
    0.3,
)
"""Of the mean, in each hour of one time zone's day."""
BURST, BURST_SECONDS = 1.6, STEP
"""At the beginning of each hour, when meetings end and schedules fire."""
S3_PUT, S3_GET, S3_GB = 0.005 / 1000, 0.0004 / 1000, 0.023
TABLE_GB = 0.25 + 0.20
FILE_MB = 0.5
"""The mean of a file, kept for a month."""


@dataclass(frozen=True)
class Day:
    """What is asked for in a day."""

    handoffs: float = 1_000_000
    messages: float = 20_000_000
    files: float = 1_000_000
    agent: float = 20.0
    own: float = 0.0

    def load(self, second: int) -> Load:
        """Of one second of the day."""
        hour = HOURS[second // 3600] / (sum(HOURS) / 24)
        factor = hour * (BURST if second % 3600 < BURST_SECONDS else 1.0) / DAY
        return Load(self.handoffs * factor, self.messages * factor, self.files * factor, self.agent, self.own)

    def peak(self) -> Load:
        return max((self.load(hour * 3600) for hour in range(24)), key=lambda load: load.messages)

    def times(self, factor: float) -> "Day":
        return Day(self.handoffs * factor, self.messages * factor, self.files * factor, self.agent, self.own)


@dataclass
class Outcome:
    """Of one limit after the day: how full it was at most, the longest wait in seconds, the share that was refused."""

    at_peak: Limit
    longest: float = 0.0
    refused: float = 0.0


def play(day: Day, settings: Settings) -> list[Outcome]:
    """Each limit by itself, the fullest first. What waits goes on when there is room; nothing is lost in a queue."""
    found = {limit.name: Outcome(limit) for limit in limits(day.peak(), settings)}
    behind, asked, refused = dict.fromkeys(found, 0.0), dict.fromkeys(found, 0.0), dict.fromkeys(found, 0.0)
    for second in range(0, DAY, STEP):
        for limit in limits(day.load(second), settings):
            over = (limit.needs - limit.has) * STEP
            asked[limit.name] += limit.needs * STEP
            if limit.beyond == "waits":
                behind[limit.name] = max(0.0, behind[limit.name] + over)
                outcome = found[limit.name]
                outcome.longest = max(outcome.longest, behind[limit.name] / limit.has)
            else:
                refused[limit.name] += max(0.0, over)
    for name, outcome in found.items():
        outcome.refused = refused[name] / asked[name] if asked[name] else 0.0
    return sorted(found.values(), key=lambda outcome: -outcome.at_peak.use)


def until(day: Day, settings: Settings) -> Iterator[tuple[Limit, float]]:
    """Each limit with the messages a day at which it is full, the first to break first."""
    for limit in sorted(limits(day.peak(), settings), key=lambda each: -each.use):
        yield limit, day.messages / limit.use if limit.use else math.inf


def month(day: Day) -> list[cost.Item]:
    """Thirty such days, besides the agent's model and traffic. Stored data is that of one month."""
    days = 30
    whole = Load(day.handoffs, day.messages, day.files, day.agent, day.own)
    agent = day.agent * (1 - day.own)
    parts = ((HANDOFF, day.handoffs), (MESSAGE, day.messages), (FILE, day.files))
    waiting = sum(count * agent for units, count in parts if units is not FILE)
    seconds = whole.total(lambda units: sum(run_seconds(units, agent=0).values()))
    runs = whole.total(lambda units: sum(units.runs.values()))
    queue = whole.total(lambda units: units.sends) * cost.QUEUE_REQUESTS_A_MESSAGE
    stored = sum(count * units.kb for units, count in parts) * days / prices.MILLION
    tables = whole.total(lambda u: u.writes) * prices.WRITE_UNIT + whole.total(lambda u: u.reads) * prices.READ_UNIT
    return [
        cost.Item("agent functions that wait for a model", days * waiting * BILLED_MEMORY * prices.LAMBDA_GB_SECOND),
        cost.Item(
            "all other work of functions", days * (seconds * prices.LAMBDA_GB_SECOND + runs * prices.LAMBDA_REQUEST)
        ),
        cost.Item("tables, requests", days * tables),
        cost.Item("tables, a month of data with backups", stored * TABLE_GB),
        cost.Item("queues", days * queue * prices.QUEUE_REQUEST),
        cost.Item("HTTP API", days * whole.total(lambda units: units.http) * prices.HTTP_API_REQUEST),
        cost.Item("logs", days * runs * prices.LOG_GB / prices.MILLION),
        cost.Item("files", days * day.files * (S3_PUT + S3_GET + FILE_MB / 1000 * S3_GB)),
    ]
