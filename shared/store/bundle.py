"""The whole store on two tables."""

from shared.domain.limits import NO_LIMITS, Limits
from shared.ports.metrics import Metrics, NoMetrics
from shared.ports.store import Store
from shared.ports.tables import Tables
from shared.store.accounts import TableAccounts
from shared.store.inbox import TableInbox
from shared.store.links import TableLinks
from shared.store.machine_turns import TableMachineTurns
from shared.store.measured import MeasuredHandoffs, MeasuredMoves, MeasuredOutbox, MeasuredTurns
from shared.store.questions import TableQuestions
from shared.store.runners import TableRunners
from shared.store.sessions import TableSessions
from shared.store.transcripts import TableTranscripts
from shared.store.usage import TableUsage

NO_METRICS = NoMetrics()


def store_on(tables: Tables, limits: Limits = NO_LIMITS, metrics: Metrics = NO_METRICS) -> Store:
    """All ports of the store on these tables. `limits` hold for each user; by default there are none."""
    return Store(
        accounts=TableAccounts(tables),
        links=TableLinks(tables),
        sessions=TableSessions(tables),
        transcripts=TableTranscripts(tables),
        handoffs=MeasuredHandoffs(tables, metrics),
        moves=MeasuredMoves(tables, metrics),
        inbox=TableInbox(tables),
        turns=MeasuredTurns(tables, metrics),
        machine_turns=TableMachineTurns(tables),
        questions=TableQuestions(tables),
        runners=TableRunners(tables),
        outbox=MeasuredOutbox(tables, metrics),
        usage=TableUsage(tables, limits),
    )
