"""A table's stream as an event source, with the behaviour of Lambda's event source mapping."""

import itertools
import json
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence

from botocore.exceptions import ClientError
from moto.events.models import EventPattern

from local.cloud.engine import Engine
from local.cloud.invoke import Invoker, function_arn
from local.cloud.sources.delivery import Batch, Delivery, Discarded, failure_message, growing_pause
from local.cloud.sources.denial import explained, is_denial, log_error
from local.cloud.sources.lane import Lane
from local.cloud.sources.record import Record, lambda_record
from local.cloud.sources.shard import PAGE, Shard, shard_ids
from local.cloud.stack import FunctionConfig, StreamMapping

IDLE_SECONDS = 1.0  # a write wakes the reader at once; this limits how long it takes to notice `stop`
UNSEEN = -1

Shards = Mapping[Shard, Sequence[Lane]]


class StreamSource:
    """Delivers records from `start` to `stop`. Its position is not stored.

    Records written after `start` returned are delivered, also with LATEST. It calls AWS with the role of the mapped
    function, as Lambda does. `on_error` receives errors of reading and discarding; the source retries by itself.
    """

    def __init__(
        self,
        mapping: StreamMapping,
        function: FunctionConfig,
        engine: Engine,
        invoker: Invoker,
        *,
        now: Callable[[], float] = time.time,
        pause: Callable[[float], bool] | None = None,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        self._mapping = mapping
        self._filters = [EventPattern.load(json.dumps(pattern)) for pattern in mapping.filters]
        self._engine = engine
        self._invoker = invoker
        self._now = now
        self._pause = pause or self._wait
        self._on_error = on_error or log_error
        self._stopped = threading.Event()
        role = engine.assume(function.role_arn)
        self._streams = engine.client("dynamodbstreams", role)
        self._sqs = engine.client("sqs", role)
        self._function_arn = function_arn(function)
        self._lanes: Sequence[Lane] = ()

    def start(self) -> None:
        """Open the stream and start reading. Raises if it cannot be opened, except for a missing grant.

        A missing grant is reported and retried; LATEST is then the end of the stream at the time of the successful try.
        """
        try:
            shards: Shards | None = self._open()
        except ClientError as error:
            if not is_denial(error):
                raise
            self._report(error)
            shards = None
        name = f"stream {self._mapping.stream_arn}"
        threading.Thread(target=self._read, args=(shards,), name=name, daemon=True).start()

    def stop(self, patience: float = 1.0) -> None:
        """Start no more batches, and wait up to `patience` seconds for those in progress."""
        self._stopped.set()
        for lane in self._lanes:
            lane.stop()
        until = time.monotonic() + patience
        for lane in self._lanes:
            lane.join(max(0.0, until - time.monotonic()))

    def _open(self) -> Shards:
        """Make the calls that Lambda makes when a mapping is created, ListStreams included."""
        mapping = self._mapping
        self._streams.list_streams(TableName=mapping.stream_arn.split("/")[1])
        shards = {
            Shard(self._streams, mapping.stream_arn, shard_id, mapping.starting_position): [
                self._lane(shard_id) for _ in range(mapping.parallelization)
            ]
            for shard_id in shard_ids(self._streams, mapping.stream_arn)
        }
        self._lanes = [lane for lanes in shards.values() for lane in lanes]
        return shards

    def _read(self, shards: Shards | None) -> None:
        """Read all shards, on one thread; open the stream if `start` could not."""
        seen, failures = UNSEEN, 0
        while not self._stopped.is_set():
            try:
                if shards is None:
                    shards = self._open()
                    continue  # check `_stopped` again: `stop` did not know the new lanes
                written = self._engine.wait_for_writes(seen, IDLE_SECONDS)
                if written != seen:
                    for shard, lanes in shards.items():
                        self._forward(shard, lanes)
                seen, failures = written, 0
            except Exception as error:  # noqa: BLE001 - the reader must not end: the stream would stop
                seen, failures = UNSEEN, failures + 1
                if self._wait(growing_pause(failures)):
                    self._report(error)

    def _forward(self, shard: Shard, lanes: Sequence[Lane]) -> None:
        """Hand new records to the lanes. An item always takes the same lane, so its records stay in order."""
        while page := shard.read():
            parts: dict[Lane, list[Record]] = {}
            for record in filter(self._is_wanted, (lambda_record(raw, self._mapping.stream_arn) for raw in page)):
                parts.setdefault(lanes[zlib.crc32(record.key.encode()) % len(lanes)], []).append(record)
            for lane, part in parts.items():
                lane.add(part)
            if len(page) < PAGE:
                return

    def _is_wanted(self, record: Record) -> bool:
        return not self._filters or any(pattern.matches_event(record.event) for pattern in self._filters)

    def _lane(self, shard_id: str) -> Lane:
        mapping = self._mapping
        delivery = Delivery(
            mapping,
            invoke=lambda batch: self._invoker.invoke(mapping.function, {"Records": [one.event for one in batch]}),
            discard=lambda discarded: self._discard(discarded, shard_id),
            now=self._now,
            pause=self._pause,
        )
        return Lane(
            lambda batch: self._deliver(delivery, batch), size=mapping.batch_size, window=mapping.window_seconds
        )

    def _deliver(self, delivery: Delivery, batch: Batch) -> None:
        try:
            delivery.deliver(batch)
        except Exception as error:  # noqa: BLE001 - the lane must not end: its items would never be delivered
            self._report(error)

    def _discard(self, discarded: Discarded, shard_id: str) -> None:
        """Tell the on-failure queue, if there is one; retry until it succeeds or the source stops."""
        mapping = self._mapping
        if mapping.on_failure_queue_url is None:
            return
        message = failure_message(
            discarded,
            function_arn=self._function_arn,
            stream_arn=mapping.stream_arn,
            shard_id=shard_id,
            now=self._now(),
        )
        for failures in itertools.count(1):
            try:
                self._sqs.send_message(QueueUrl=mapping.on_failure_queue_url, MessageBody=json.dumps(message))
            except Exception as error:  # noqa: BLE001 - reported and retried
                self._report(error)
                if not self._wait(growing_pause(failures)):
                    return
            else:
                return

    def _report(self, error: Exception) -> None:
        self._on_error(explained(error, self._mapping.function))

    def _wait(self, seconds: float) -> bool:
        """Wait; return False if the source was stopped."""
        return not self._stopped.wait(seconds)
