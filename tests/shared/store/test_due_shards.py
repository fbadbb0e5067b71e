"""The partitions of the due indexes."""

from collections import Counter

from shared.store.due import DUE_SHARDS, due_shard


def test_no_shard_runs_hot_and_none_is_left_out() -> None:
    ids = [f"h-{number}" for number in range(4000)]
    shards = Counter(due_shard(handoff_id) for handoff_id in ids)
    assert set(shards) == set(range(DUE_SHARDS))
    assert max(shards.values()) < 1.3 * len(ids) / DUE_SHARDS
