"""All patches, in the order in which they are applied."""

from functools import cache

from local.cloud.moto_patches import (
    access,
    answers,
    atomicity,
    comparisons,
    dispatch,
    forgetting,
    queries,
    queues,
    receiving,
    skip_unused_services,
    streams,
    transactions,
)

PATCHES = (
    *(skip_unused_services, dispatch, answers, forgetting),  # speed and memory
    *(atomicity, streams, transactions, queries, comparisons),  # DynamoDB
    *(queues, receiving),  # SQS
    access,  # IAM
)


@cache
def apply() -> None:
    """Patch moto in this process. Idempotent."""
    for patch in PATCHES:
        patch.apply()
