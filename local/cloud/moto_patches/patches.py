"""All patches, in the order in which they are applied."""

from functools import cache

from local.cloud.moto_patches import (
    access,
    atomicity,
    comparisons,
    queries,
    queues,
    receiving,
    skip_unused_services,
    speed,
    streams,
    transactions,
)

PATCHES = (
    *(skip_unused_services, speed),  # speed and memory
    *(atomicity, streams, transactions, queries, comparisons),  # DynamoDB
    *(queues, receiving),  # SQS
    access,  # IAM
)


@cache
def apply() -> None:
    """Patch moto in this process. Idempotent."""
    for patch in PATCHES:
        patch.apply()
