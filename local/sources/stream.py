"""A table's stream as an event source: shards read side by side, each split into lanes that keep every item's order."""

import json
import logging
import math
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence

from local.invoke import Invoker
from local.sources.delivery import Batch, Delivery, Discarded, growing_pause
from local.sources.engine import Engine
from local.sources.lane import Lane
from local.sources.on_failure import failure_message
from local.sources.pattern import check, matches
from local.sources.record import Record, lambda_record
from local.sources.shard import PAGE, Shard, shard_ids
from local.stack import StreamMapping

LOG = logging.getLogger(__name__)
IDLE_SECONDS = 1.0  # a write wakes the reader; this is only how soon it notices that it was stopped
RETRY_SECONDS = 0.1
UNSEEN = -1


class StreamSource:
    """Delivers records from `start` to `stop`. Nothing of its place survives it, as nothing of the local stream does.

    Records written after `start` returned are seen, also with LATEST. `on_error` hears what kept the source itself
    from reading or discarding; it goes on by itself.
    """

    def __init__(
        self,
        mapping: StreamMapping,
        engine: Engine,
        invoker: Invoker,
        *,
        function_arn: str = "",
        now: Callable[[], float] = time.time,
        pause: Callable[[float], bool] | None = None,
        backoff: Callable[[int], float] = growing_pause,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        for pattern in mapping.filters:
            check(pattern)
        self._mapping = mapping
        self._engine = engine
        self._invoker = invoker
        self._function_arn = function_arn
        self._now = now
        self._pause = pause or self._wait
        self._backoff = backoff
        self._on_error = on_error or _log
        self._stopped = threading.Event()
        self._streams = engine.client("dynamodbstreams")
        self._sqs = engine.client("sqs")
        self._lanes: list[Lane] = []

    def start(self) -> None:
        arn, position = self._mapping.stream_arn, self._mapping.starting_position
        shards = {}
        for shard_id in shard_ids(self._streams, arn):
            lanes = [self._lane(shard_id) for _ in range(self._mapping.parallelization)]
            shards[Shard(self._streams, arn, shard_id, position)] = lanes
            self._lanes += lanes
        threading.Thread(target=self._read, args=(shards,), name=f"stream {arn}", daemon=True).start()

    def stop(self, patience: float = 1.0) -> None:
        """No batch begins after this; waits a while for those that are being delivered."""
        self._stopped.set()
        for lane in self._lanes:
            lane.stop()
        until = time.monotonic() + patience
        for lane in self._lanes:
            lane.join(max(0.0, until - time.monotonic()))

    def _read(self, shards: Mapping[Shard, list[Lane]]) -> None:
        """One thread for all shards. A write does not say which shard it went to, and reading is what costs: so it begins
        with the shard that had news last, and ends when it has found as many records as were written.
        """
        order, seen, owed = list(shards), UNSEEN, math.inf
        while not self._stopped.is_set():
            try:
                now = self._engine.wait_for_writes(seen, IDLE_SECONDS)
                if now == seen:
                    continue
                owed = self._sweep(order, shards, math.inf if seen == UNSEEN else owed + now - seen)
                seen = now
            except Exception as error:  # noqa: BLE001 - a reader that ends would be a stream that stands still
                seen = UNSEEN
                if self._wait(RETRY_SECONDS):
                    self._on_error(error)

    def _sweep(self, order: list[Shard], shards: Mapping[Shard, list[Lane]], owed: float) -> float:
        """Reads shards until `owed` records are found, and says how many still are; below zero: found before counted."""
        for shard in list(order):
            while found := self._read_shard(shard, shards[shard]):
                owed -= found
                order.remove(shard)
                order.insert(0, shard)
                if found < PAGE:
                    break
            if owed <= 0:
                return owed
        return 0  # whatever is still owed went to another table's stream

    def _read_shard(self, shard: Shard, lanes: list[Lane]) -> int:
        """Hands on what is new and says how many records that were."""
        records = shard.read()
        wanted = filter(self._is_wanted, (lambda_record(raw, self._mapping.stream_arn) for raw in records))
        for lane, part in _by_lane(wanted, lanes).items():
            lane.add(part)
        return len(records)

    def _is_wanted(self, record: Record) -> bool:
        filters = self._mapping.filters
        return not filters or any(matches(pattern, record.event) for pattern in filters)

    def _lane(self, shard_id: str) -> Lane:
        mapping = self._mapping
        delivery = Delivery(
            mapping,
            invoke=lambda batch: self._invoker.invoke(mapping.function, {"Records": [one.event for one in batch]}),
            discard=lambda discarded: self._discard(shard_id, discarded),
            now=self._now,
            pause=self._pause,
            backoff=self._backoff,
        )
        return Lane(
            lambda batch: self._deliver(delivery, batch), size=mapping.batch_size, window=mapping.window_seconds
        )

    def _deliver(self, delivery: Delivery, batch: Batch) -> None:
        try:
            delivery.deliver(batch)
        except Exception as error:  # noqa: BLE001 - a lane that ends would hold up its items for ever
            self._on_error(error)

    def _discard(self, shard_id: str, discarded: Discarded) -> None:
        """Tells the on-failure queue; tries until it is told, for a record that vanishes silently is the worst case."""
        if self._mapping.on_failure_queue_url is None:
            return
        body = failure_message(
            discarded,
            function_arn=self._function_arn or self._mapping.function,
            stream_arn=self._mapping.stream_arn,
            shard_id=shard_id,
            now=self._now(),
        )
        while True:
            try:
                self._sqs.send_message(QueueUrl=self._mapping.on_failure_queue_url, MessageBody=json.dumps(body))
            except Exception as error:  # noqa: BLE001 - it is told to `on_error` and tried again
                self._on_error(error)
                if not self._wait(RETRY_SECONDS):
                    return
            else:
                return

    def _wait(self, seconds: float) -> bool:
        """Whether to go on after the wait."""
        return not self._stopped.wait(seconds)


def _log(error: Exception) -> None:
    LOG.error("The stream source goes on after an error", exc_info=error)


def _by_lane(records: Iterable[Record], lanes: Sequence[Lane]) -> dict[Lane, list[Record]]:
    """An item always takes the same lane, so its records stay in order."""
    parts: dict[Lane, list[Record]] = {}
    for record in records:
        parts.setdefault(lanes[zlib.crc32(record.key.encode()) % len(lanes)], []).append(record)
    return parts
