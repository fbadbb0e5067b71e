"""The whole store on two tables."""

from shared.ports.store import Store
from shared.ports.tables import Tables
from shared.store.accounts import TableAccounts
from shared.store.handoffs import TableHandoffs
from shared.store.inbox import TableInbox
from shared.store.moves import TableMoves
from shared.store.outbox import TableOutbox
from shared.store.sessions import TableSessions
from shared.store.transcripts import TableTranscripts
from shared.store.turns import TableTurns


def store_on(tables: Tables) -> Store:
    """All ports of the store on these tables."""
    return Store(
        accounts=TableAccounts(tables),
        sessions=TableSessions(tables),
        transcripts=TableTranscripts(tables),
        handoffs=TableHandoffs(tables),
        moves=TableMoves(tables),
        inbox=TableInbox(tables),
        turns=TableTurns(tables),
        outbox=TableOutbox(tables),
    )
