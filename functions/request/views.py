"""Response bodies of calls that change something."""

from pydantic import BaseModel

from functions.views import SessionView


class AppendedView(BaseModel):
    """Where the transcript stands after an append."""

    message_count: int
    epoch: int


class TurnView(BaseModel):
    id: str


class AcceptedTurn(BaseModel):
    """A turn that is queued. Its reply appears in the transcript."""

    turn: TurnView
    session: SessionView
    poll_after_ms: int


class HomeView(BaseModel):
    platform: str
    chat: str
