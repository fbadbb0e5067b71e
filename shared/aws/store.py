"""The whole store on one DynamoDB client."""

from typing import Any

from shared.aws.accounts import DynamoAccounts
from shared.aws.handoffs import DynamoHandoffs
from shared.aws.inbox import DynamoInbox
from shared.aws.moves import DynamoMoves
from shared.aws.outbox import DynamoOutbox
from shared.aws.sessions import DynamoSessions
from shared.aws.tables import Tables
from shared.aws.transcripts import DynamoTranscripts
from shared.aws.turns import DynamoTurns
from shared.ports.store import Store


def dynamo_store(client: Any, *, handoffs: str, sessions: str) -> Store:
    """The ports on the two tables of these names."""
    tables = Tables(client, handoffs, sessions)
    return Store(
        accounts=DynamoAccounts(tables),
        sessions=DynamoSessions(tables),
        transcripts=DynamoTranscripts(tables),
        handoffs=DynamoHandoffs(tables),
        moves=DynamoMoves(tables),
        inbox=DynamoInbox(tables),
        turns=DynamoTurns(tables),
        outbox=DynamoOutbox(tables),
    )
