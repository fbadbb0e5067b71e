"""The whole store on two tables."""

from shared.domain.limits import NO_LIMITS, Limits
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
from shared.store.usage import TableUsage


def store_on(tables: Tables, limits: Limits = NO_LIMITS) -> Store:
    """All ports of the store on these tables. `limits` hold for each user; by default there are none."""
    return Store(
        accounts=TableAccounts(tables),
        sessions=TableSessions(tables),
        transcripts=TableTranscripts(tables),
        handoffs=TableHandoffs(tables),
        moves=TableMoves(tables),
        inbox=TableInbox(tables),
        turns=TableTurns(tables),
        outbox=TableOutbox(tables),
        usage=TableUsage(tables, limits),
    )
