"""The whole store on two tables."""

from dataclasses import dataclass

from shared.domain.limits import NO_LIMITS, Limits
from shared.ports.metrics import Metrics, NoMetrics
from shared.ports.tables import Tables
from shared.store.accounts import Accounts
from shared.store.budgets import Budgets
from shared.store.files import SessionFiles
from shared.store.handoffs import Handoffs
from shared.store.inbox import Inbox
from shared.store.links import Links
from shared.store.lists import Lists
from shared.store.machine_turns import MachineTurns
from shared.store.measured import MeasuredHandoffs, MeasuredMoves, MeasuredOutbox, MeasuredTurns
from shared.store.moves import Moves
from shared.store.orders import Orders
from shared.store.outbox import Outbox
from shared.store.questions import Questions
from shared.store.runners import Runners
from shared.store.sends import Sends
from shared.store.sessions import Sessions
from shared.store.transcripts import Transcripts
from shared.store.turns import Turns
from shared.store.usage import Usage

NO_METRICS = NoMetrics()


@dataclass(frozen=True)
class Store:
    """The parts of the store, by subject. Only these classes write items; use cases call their methods."""

    accounts: Accounts
    links: Links
    sessions: Sessions
    transcripts: Transcripts
    handoffs: Handoffs
    moves: Moves
    inbox: Inbox
    turns: Turns
    machine_turns: MachineTurns
    questions: Questions
    runners: Runners
    orders: Orders
    lists: Lists
    budgets: Budgets
    outbox: Outbox
    usage: Usage
    files: SessionFiles
    sends: Sends


def store_on(tables: Tables, limits: Limits = NO_LIMITS, metrics: Metrics = NO_METRICS) -> Store:
    """The store on these tables. `limits` hold for each user; by default there are none."""
    return Store(
        accounts=Accounts(tables),
        links=Links(tables),
        sessions=Sessions(tables),
        transcripts=Transcripts(tables),
        handoffs=MeasuredHandoffs(tables, metrics),
        moves=MeasuredMoves(tables, metrics),
        inbox=Inbox(tables),
        turns=MeasuredTurns(tables, metrics),
        machine_turns=MachineTurns(tables),
        questions=Questions(tables),
        runners=Runners(tables),
        orders=Orders(tables),
        lists=Lists(tables),
        budgets=Budgets(tables),
        outbox=MeasuredOutbox(tables, metrics),
        usage=Usage(tables, limits),
        files=SessionFiles(tables, limits),
        sends=Sends(tables),
    )
