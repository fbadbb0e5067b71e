"""Reads one shard of a stream, across expired iterators and trimmed records."""

from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

PAGE = 1000  # the maximum of GetRecords
_INVALID = {"ExpiredIteratorException", "TrimmedDataAccessException"}


class Shard:
    """A position in a shard that only moves forward. Not thread-safe."""

    def __init__(self, client: Any, stream_arn: str, shard_id: str, starting_position: str) -> None:
        self.id = shard_id
        self._client = client
        self._stream_arn = stream_arn
        self._last: str | None = None
        self._iterator: str | None = self._iterator_at({"ShardIteratorType": starting_position})

    def read(self) -> Sequence[Mapping[str, Any]]:
        """Return the records since the last call."""
        if self._iterator is None:  # the shard is closed and read to its end
            return []
        try:
            page = self._page()
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code not in _INVALID:
                raise
            self._iterator = self._new_iterator(trimmed=code.startswith("Trimmed"))
            page = self._page()
        self._iterator = page.get("NextShardIterator")
        records: Sequence[Mapping[str, Any]] = page["Records"]
        if records:
            self._last = records[-1]["dynamodb"]["SequenceNumber"]
        return records

    def _page(self) -> Mapping[str, Any]:
        page: Mapping[str, Any] = self._client.get_records(ShardIterator=self._iterator, Limit=PAGE)
        return page

    def _new_iterator(self, *, trimmed: bool) -> str:
        if trimmed or self._last is None:
            return self._iterator_at({"ShardIteratorType": "TRIM_HORIZON"})
        return self._iterator_at({"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self._last})

    def _iterator_at(self, position: Mapping[str, str]) -> str:
        answer = self._client.get_shard_iterator(StreamArn=self._stream_arn, ShardId=self.id, **position)
        iterator: str = answer["ShardIterator"]
        return iterator


def shard_ids(client: Any, stream_arn: str) -> list[str]:
    """Return the ids of all shards, parents before their children."""
    found: list[Mapping[str, Any]] = []
    start: dict[str, str] = {}
    while True:
        page = client.describe_stream(StreamArn=stream_arn, **start)["StreamDescription"]
        found += page["Shards"]
        if "LastEvaluatedShardId" not in page:
            return [shard["ShardId"] for shard in found]
        start = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}
