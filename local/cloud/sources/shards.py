"""All shards of a stream, read side by side, each split into lanes that keep every item's order."""

import zlib
from collections.abc import Iterable, Mapping, Sequence

from local.cloud.sources.lane import Lane
from local.cloud.sources.pattern import matches
from local.cloud.sources.record import Record, lambda_record
from local.cloud.sources.shard import PAGE, Shard
from local.cloud.stack import StreamMapping


class Shards:
    """A write does not say which shard it went to, and reading is what costs: so a sweep begins with the shard that had
    news last, and ends when it has found as many records as were written. Not thread-safe.
    """

    def __init__(self, mapping: StreamMapping, lanes: Mapping[Shard, Sequence[Lane]]) -> None:
        self._mapping = mapping
        self._lanes = lanes
        self._order = list(lanes)

    def sweep(self, owed: float) -> float:
        """Reads shards until `owed` records are found, and says how many still are; below zero: found before counted."""
        for shard in list(self._order):
            while found := self._read(shard):
                owed -= found
                self._order.remove(shard)
                self._order.insert(0, shard)
                if found < PAGE:
                    break
            if owed <= 0:
                return owed
        return 0  # whatever is still owed went to another table's stream

    def _read(self, shard: Shard) -> int:
        """Hands on what is new and says how many records that were."""
        records = shard.read()
        wanted = filter(self._is_wanted, (lambda_record(raw, self._mapping.stream_arn) for raw in records))
        for lane, part in _by_lane(wanted, self._lanes[shard]).items():
            lane.add(part)
        return len(records)

    def _is_wanted(self, record: Record) -> bool:
        filters = self._mapping.filters
        return not filters or any(matches(pattern, record.event) for pattern in filters)


def _by_lane(records: Iterable[Record], lanes: Sequence[Lane]) -> dict[Lane, list[Record]]:
    """An item always takes the same lane, so its records stay in order."""
    parts: dict[Lane, list[Record]] = {}
    for record in records:
        parts.setdefault(lanes[zlib.crc32(record.key.encode()) % len(lanes)], []).append(record)
    return parts
