"""The two tables as one bundle of small ports."""

from dataclasses import dataclass

from shared.ports.accounts import Accounts
from shared.ports.handoffs import Handoffs
from shared.ports.inbox import Inbox
from shared.ports.links import Links
from shared.ports.machine_turns import MachineTurns
from shared.ports.moves import Moves
from shared.ports.outbox import Outbox
from shared.ports.questions import Questions
from shared.ports.runners import Runners
from shared.ports.sessions import Sessions
from shared.ports.transcripts import Transcripts
from shared.ports.turns import Turns
from shared.ports.usage import Usage


@dataclass(frozen=True)
class Store:
    """The ports of the two tables."""

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
    outbox: Outbox
    usage: Usage
