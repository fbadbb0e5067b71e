"""A table's stream as an event source: opened, read and delivered as Lambda's mapping does."""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence

from botocore.exceptions import ClientError

from local.cloud.invoke import Invoker, function_arn
from local.cloud.sources.delivery import Batch, Delivery, Discarded, growing_pause
from local.cloud.sources.denial import explained, is_denial
from local.cloud.sources.engine import Engine
from local.cloud.sources.lane import Lane
from local.cloud.sources.on_failure import OnFailureQueue
from local.cloud.sources.pattern import check
from local.cloud.sources.shard import Shard, shard_ids
from local.cloud.sources.shards import Shards
from local.cloud.stack import FunctionConfig, StreamMapping

LOG = logging.getLogger(__name__)
IDLE_SECONDS = 1.0  # a write wakes the reader; this is only how soon it notices that it was stopped
UNSEEN = -1


class StreamSource:
    """Delivers records from `start` to `stop`. Nothing of its place survives it, as nothing of the local stream does.

    Records written after `start` returned are seen, also with LATEST. It calls with the role of the mapped function, as
    Lambda does. `on_error` hears what kept the source itself from reading or discarding; it goes on by itself.
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
        backoff: Callable[[int], float] = growing_pause,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        for pattern in mapping.filters:
            check(pattern)
        self._mapping = mapping
        self._engine = engine
        self._invoker = invoker
        self._now = now
        self._pause = pause or self._wait
        self._backoff = backoff
        self._on_error = on_error or _log
        self._stopped = threading.Event()
        role = engine.assume(function.role_arn)
        self._streams = engine.client("dynamodbstreams", role)
        self._on_failure: OnFailureQueue | None = None
        if mapping.on_failure_queue_url is not None:
            self._on_failure = OnFailureQueue(
                engine.client("sqs", role),
                mapping.on_failure_queue_url,
                function_arn=function_arn(function),
                stream_arn=mapping.stream_arn,
                on_error=self._tell,
                pause=self._wait,
            )
        self._lanes: Sequence[Lane] = ()

    def start(self) -> None:
        """Raises what keeps it from opening the stream. Only a missing grant is told and tried again instead; LATEST is then
        where the stream ends when it is opened at last.
        """
        try:
            shards: Shards | None = self._open()
        except ClientError as error:
            if not is_denial(error):
                raise
            self._tell(error)
            shards = None
        name = f"stream {self._mapping.stream_arn}"
        threading.Thread(target=self._read, args=(shards,), name=name, daemon=True).start()

    def stop(self, patience: float = 1.0) -> None:
        """No batch begins after this; waits a while for those that are being delivered."""
        self._stopped.set()
        for lane in self._lanes:
            lane.stop()
        until = time.monotonic() + patience
        for lane in self._lanes:
            lane.join(max(0.0, until - time.monotonic()))

    def _open(self) -> Shards:
        """As Lambda does when the mapping is made: that is also when it wants to list streams."""
        mapping = self._mapping
        self._streams.list_streams(TableName=mapping.stream_arn.split("/")[1])
        lanes = {
            Shard(self._streams, mapping.stream_arn, shard_id, mapping.starting_position): [
                self._lane(shard_id) for _ in range(mapping.parallelization)
            ]
            for shard_id in shard_ids(self._streams, mapping.stream_arn)
        }
        self._lanes = [lane for group in lanes.values() for lane in group]
        return Shards(mapping, lanes)

    def _read(self, shards: Shards | None) -> None:
        """One thread for all shards; it opens the stream if `start` could not."""
        seen, owed, failures = UNSEEN, math.inf, 0
        while not self._stopped.is_set():
            try:
                if shards is None:
                    shards = self._open()
                    continue  # unless it was stopped meanwhile
                now = self._engine.wait_for_writes(seen, IDLE_SECONDS)
                if now == seen:
                    continue
                owed = shards.sweep(math.inf if seen == UNSEEN else owed + now - seen)
                seen, failures = now, 0
            except Exception as error:  # noqa: BLE001 - a reader that ends would be a stream that stands still
                seen, failures = UNSEEN, failures + 1
                if self._wait(growing_pause(failures)):
                    self._tell(error)

    def _lane(self, shard_id: str) -> Lane:
        mapping = self._mapping
        delivery = Delivery(
            mapping,
            invoke=lambda batch: self._invoker.invoke(mapping.function, {"Records": [one.event for one in batch]}),
            discard=lambda discarded: self._discard(discarded, shard_id),
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
            self._tell(error)

    def _discard(self, discarded: Discarded, shard_id: str) -> None:
        if self._on_failure is not None:
            self._on_failure.tell(discarded, shard_id, self._now())

    def _tell(self, error: Exception) -> None:
        self._on_error(explained(error, self._mapping.function))

    def _wait(self, seconds: float) -> bool:
        """Whether to go on after the wait."""
        return not self._stopped.wait(seconds)


def _log(error: Exception) -> None:
    LOG.error("The stream source goes on after an error", exc_info=error)
