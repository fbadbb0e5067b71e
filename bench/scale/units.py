"""What one handoff, message, progress update and file need. `tests/bench/test_scale.py` compares it with the real code."""

from collections.abc import Mapping
from dataclasses import dataclass

from local.operate.deploy import cost


@dataclass(frozen=True)
class Units:
    """Of one. `writes` are write units with indexes, `due` those in the indexes of what is due, `reads` and `tables` requests.

    `sends` are messages to queues, `posts` calls that post or edit on the platform, `calls` all calls to it. `runs` are runs
    of functions. `http` are requests to the API, `kb` what is stored of it in the tables.
    """

    writes: float
    due: int
    reads: int
    tables: int
    sends: int
    posts: int
    calls: int
    runs: Mapping[str, int]
    http: int = 0
    kb: float = 0.0
    objects: int = 0


HANDOFF = Units(
    writes=cost.HANDOFF_WRITE_UNITS,
    due=8,
    reads=20,
    tables=31,
    sends=3,
    posts=2,
    calls=3,
    runs={"request": 1, "process": 1, "agent": 1, "turn": 1, "status": cost.HANDOFF_REQUESTS - 1},
    http=cost.HANDOFF_REQUESTS,
    kb=10,
)
"""With a transcript of 40 messages, compressed."""
MESSAGE = Units(
    writes=cost.MESSAGE_WRITE_UNITS,
    due=2,
    reads=16,
    tables=23,
    sends=4,
    posts=1,
    calls=1,
    runs={"webhook": 1, "turn": 2, "agent": 1},
    http=1,
    kb=2,
)
SHOWN = Units(writes=2, due=0, reads=8, tables=9, sends=1, posts=1, calls=1, runs={"turn": 1})
"""One update of the progress message; the first one of a turn costs about two. A deployment's model that streams has one each
3 seconds."""
FILE = Units(
    writes=10,
    due=3,
    reads=11,
    tables=16,
    sends=4,
    posts=0,
    calls=1,
    runs={"turn": 2, "agent": 1},
    kb=1,
    objects=2,
)
"""What one file adds to the message with which it comes: a fetch, its item, one object written and read."""

PROCESSOR = {"request": 0.00015, "process": 0.00035, "agent": 0.00065, "turn": 0.00025, "webhook": 0.00008}
"""Seconds of a processor in the use case of one run: `make bench ARGS=scale` prints what it measures beside."""
FRAME_SECONDS = 0.008
"""An estimate, of what is around it in a run: the runtime, web framework, JSON, and checks of tokens and signatures."""
TABLE_SECONDS, SEND_SECONDS, CALL_SECONDS = 0.006, 0.012, 0.2
"""Estimates, of one request to DynamoDB and to SQS in the same region, and of one call to a chat platform."""
SHARE = 1024 / 1769
"""Of a processor, which a function with 1,024 MB has on Lambda."""
BILLED_MEMORY = cost.FUNCTION_GB


def run_seconds(units: Units, *, agent: float) -> dict[str, float]:
    """How long the runs of each function take for one. Requests and calls are spread over those that make them."""
    found = {name: count * (PROCESSOR.get(name, 0) + FRAME_SECONDS) / SHARE for name, count in units.runs.items()}
    inner = {name: count for name, count in units.runs.items() if name in PROCESSOR}
    posting = {name: count for name, count in units.runs.items() if name in ("process", "turn")}
    for name, count in inner.items():
        found[name] += (units.tables * TABLE_SECONDS + units.sends * SEND_SECONDS) * count / sum(inner.values())
    for name, count in posting.items():
        found[name] += units.calls * CALL_SECONDS * count / sum(posting.values())
    if "agent" in found:
        found["agent"] += agent
    return found
