"""The two tables as one bundle of small ports."""

from dataclasses import dataclass

from shared.ports.accounts import Accounts
from shared.ports.handoffs import Handoffs
from shared.ports.inbox import Inbox
from shared.ports.moves import Moves
from shared.ports.outbox import Outbox
from shared.ports.sessions import Sessions
from shared.ports.transcripts import Transcripts
from shared.ports.turns import Turns
from shared.ports.usage import Usage


@dataclass(frozen=True)
class Store:
    """The ports of the two tables."""

    accounts: Accounts
    sessions: Sessions
    transcripts: Transcripts
    handoffs: Handoffs
    moves: Moves
    inbox: Inbox
    turns: Turns
    outbox: Outbox
    usage: Usage
