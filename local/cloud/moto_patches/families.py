"""All mendings, in the order in which they are made."""

from functools import cache

from local.cloud.moto_patches import (
    access,
    answers,
    atomicity,
    dispatch,
    expressions,
    iterators,
    limits,
    loading,
    queries,
    queues,
    receiving,
    streams,
    transactions,
    unused,
)

FAMILIES = (
    *(loading, unused, dispatch, expressions, answers),  # quicker
    *(atomicity, streams, iterators, transactions, limits, queries),  # DynamoDB
    *(queues, receiving),  # SQS
    access,  # IAM
)


@cache
def apply() -> None:
    """Mend this process's moto; safe to call again."""
    for family in FAMILIES:
        family.apply()
